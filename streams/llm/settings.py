"""The sections ``llm`` and ``models`` of the configuration: servers, budget, limits and prices of models."""

from __future__ import annotations

import contextlib
from ipaddress import ip_address
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from schemas.addresses import web_address
from schemas.rules import OptionalPath, Section
from streams.runtime.server_address import ServerAddress

LOCAL_RATE = {"requests_per_minute": 600, "tokens_per_minute": 1_000_000}
"""Where a server on this machine or in a private network begins. Each 429 halves the rate."""
LONGEST_ASK_SECONDS = 270.0  # below the timeout of a request in the pipeline (``processing.retries.attempt_seconds``)


class LlmSettings(Section):
    """The server of language models. Without ``base_url`` and ``api_key`` the offline judge answers."""

    base_url: Annotated[str, ServerAddress("llm.api_key", "http://localhost:8000/v1")] = Field(
        default="", description="An OpenAI-compatible endpoint; empty with a key: OpenAI's."
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="The key; your own servers may not need one.")
    model: str = Field(default="", max_length=200, description="The model of tasks without a model of their own.")
    cache_path: OptionalPath = Field(default=None, description="File of paid answers and costs; empty: in memory.")
    redis_url: SecretStr = Field(
        default=SecretStr(""), description="A Redis that stores them instead, for replicas that share no disk."
    )
    cache_seconds: float = Field(default=2_592_000.0, ge=0, description="How long an answer is kept.")
    cache_failed_seconds: float = Field(
        default=3600.0, ge=0, description="How long a refusal, an empty or a truncated reply is kept; it was paid too."
    )
    budget_usd_per_day: float | None = Field(
        default=None, ge=0, description="Most USD in a UTC day, all replicas together; empty: no bound."
    )
    connect_seconds: float = Field(default=2.0, gt=0, description="Timeout for connecting to a server.")
    max_reply_bytes: int = Field(default=1_048_576, ge=1024, description="Size of a response; a longer one is refused.")
    first_backoff_seconds: float = Field(default=0.2, gt=0, description="Upper bound of the first pause between tries.")
    max_backoff_seconds: float = Field(default=5.0, gt=0, description="Upper bound of any pause between tries.")
    breaker_failures: int = Field(
        default=5,
        ge=1,
        description="Different questions failing one after another before the circuit breaker of a model opens.",
    )
    breaker_window: int = Field(
        default=20, ge=2, description="Number of the last different questions whose share of failures is checked."
    )
    breaker_share: float = Field(
        default=0.5, gt=0, le=1, description="Share of failures among them that opens the circuit breaker of a model."
    )
    breaker_first_seconds: float = Field(
        default=5.0, gt=0, description="Pause before the first probe; each failed probe doubles it."
    )
    breaker_max_seconds: float = Field(default=120.0, gt=0, description="Longest pause before a probe.")
    max_rest_seconds: float = Field(default=3600.0, gt=0, description="Longest pause that a Retry-After can cause.")
    window_margin: float = Field(
        default=0.02,
        gt=0,
        le=0.5,
        description="Part of a minute added to the window of the limits, for delays of the network.",
    )

    @field_validator("base_url")
    @classmethod
    def _ends_in_time(cls, text: str) -> str:
        if text.endswith("/chat/completions"):
            raise ValueError("is too long: it ends before /chat/completions, as in http://localhost:8000/v1")
        return text

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, key: SecretStr) -> SecretStr:
        # A key from a file ends with a line break. An error about an invalid header would show the key.
        text = key.get_secret_value().strip()
        if not all("!" <= character <= "~" for character in text):
            raise ValueError("has a character that no key has: a blank, a line break, a typographic quote")
        return SecretStr(text)

    @property
    def offline(self) -> bool:
        return not self.base_url and not self.api_key.get_secret_value()

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine or in a private network, so that it is no provider's."""
        address = web_address(self.base_url)
        host = address.host.strip("[]") if address else ""
        with contextlib.suppress(ValueError):
            return ip_address(host).is_private
        return bool(host) and ("." not in host or host.endswith(".local"))


class TaskPolicy(Section):
    """Deadline, patience and attempts of one task."""

    deadline_seconds: float = Field(default=30.0, gt=0, description="Time of all calls for one answer.")
    patience_seconds: float = Field(default=120.0, ge=0, description="Longest wait for a turn, besides the deadline.")
    attempts: int = Field(default=3, ge=1, le=10, description="Most calls for one answer.")
    weight: float = Field(default=1.0, ge=0, description="Weight among the tasks that share a model's limits.")

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.deadline_seconds + self.patience_seconds > LONGEST_ASK_SECONDS:
            raise ValueError(f"deadline and patience are more than {LONGEST_ASK_SECONDS:g} s together")
        return self


class ModelLimits(Section):
    """Limits and prices of one model."""

    requests_per_minute: int = Field(
        default=60,
        ge=1,
        description="Requests of the whole fleet in any 60 seconds; 600 by default for a local server.",
    )
    tokens_per_minute: int = Field(
        default=100_000, ge=1, description="Tokens of the whole fleet in any 60 seconds; a million for a local server."
    )
    in_flight: int = Field(
        default=16,
        ge=1,
        description="Concurrent calls of the whole fleet; each task of each process may always have one.",
    )
    price_in: float | None = Field(default=None, ge=0, description="USD for a million tokens of prompts.")
    price_out: float | None = Field(default=None, ge=0, description="USD for a million tokens of replies.")
    thinking_tokens: int = Field(
        default=0,
        ge=0,
        description="Hidden thinking tokens, added to a task's max_tokens in the request and in the booking.",
    )
    structured: bool = Field(default=False, description="Whether the server accepts a JSON Schema for the reply.")


class ModelsSection(Section):
    """Tasks and models. A task or model without an entry has the values of ``default``."""

    tasks: dict[str, TaskPolicy] = Field(default_factory=dict, description="By the name of the handler, or default.")
    limits: dict[str, ModelLimits] = Field(
        default_factory=dict,
        description="By the name of the model, or default.",
    )
    replay_share: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Replays' part of each task's limits; live traffic has the rest, even while no replay runs.",
    )

    def task(self, name: str) -> TaskPolicy:
        return self.tasks.get(name) or self.tasks.get("default") or TaskPolicy()

    def limits_of(self, model: str, llm: LlmSettings) -> ModelLimits:
        """The limits of a model at a server; a local server has ``LOCAL_RATE`` where its own is not configured."""
        found = self.limits.get(model) or self.limits.get("default") or ModelLimits()
        unset = LOCAL_RATE.keys() - found.model_fields_set if llm.is_local else set[str]()
        return found.model_copy(update={name: LOCAL_RATE[name] for name in unset})
