"""The sections ``llm`` and ``models``: where models are, what they may cost, and how much may be asked of them."""

from __future__ import annotations

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from schemas.rules import OptionalPath, Section

LONGEST_ASK_SECONDS = 270.0
"""Below the time after which the pipeline takes an ask for lost (``processing.retries.attempt_seconds``)."""


class LlmSettings(Section):
    """Where language models are asked. Without ``base_url`` and ``api_key`` the offline judge answers."""

    base_url: str = Field(default="", description="An OpenAI-compatible endpoint; empty with a key: OpenAI's own.")
    api_key: SecretStr = Field(default=SecretStr(""), description="The key; servers of your own may want none.")
    model: str = Field(default="", max_length=200, description="The model of tasks that name none.")
    cache_path: OptionalPath = Field(
        default=None, description="File with the answers that were paid for and the day's costs; empty: in memory."
    )
    redis_url: SecretStr = Field(
        default=SecretStr(""), description="A Redis that keeps them instead, for replicas that share no disk."
    )
    cache_seconds: float = Field(default=2_592_000.0, ge=0, description="How long an answer is kept.")
    cache_failed_seconds: float = Field(
        default=3600.0, ge=0, description="How long a refusal, an empty or a cut off reply is kept; it was paid too."
    )
    budget_usd_per_day: float | None = Field(
        default=None, ge=0, description="Spent in a UTC day at most, all replicas together; empty: no bound."
    )
    connect_seconds: float = Field(default=2.0, gt=0, description="Time for connecting; beyond it nobody is there.")
    max_reply_bytes: int = Field(default=1_048_576, ge=1024, description="Of one response; what is longer is refused.")
    first_backoff_seconds: float = Field(default=0.2, gt=0, description="Upper bound of the first pause between tries.")
    max_backoff_seconds: float = Field(default=5.0, gt=0, description="Upper bound of any pause between tries.")
    breaker_failures: int = Field(
        default=5,
        ge=1,
        description="Different questions failing one after another before the circuit breaker of a model opens.",
    )
    breaker_window: int = Field(
        default=20, ge=2, description="Different questions whose share of failures is looked at."
    )
    breaker_share: float = Field(
        default=0.5, gt=0, le=1, description="Share of them that has failed when the circuit breaker of a model opens."
    )
    breaker_first_seconds: float = Field(default=5.0, gt=0, description="Pause before the first probe; it doubles.")
    breaker_max_seconds: float = Field(default=120.0, gt=0, description="Longest pause before a probe.")
    max_rest_seconds: float = Field(
        default=3600.0, gt=0, description="Longest that a server's wish to be left alone is granted before it is asked."
    )
    window_margin: float = Field(
        default=0.02,
        gt=0,
        le=0.5,
        description="Part of a minute added to the window that limits are kept in, for the network's own delays.",
    )

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, text: str) -> str:
        text = text.strip().rstrip("/")
        if text:
            _check_address(text)
        return text

    @field_validator("api_key")
    @classmethod
    def _fits_into_a_header(cls, key: SecretStr) -> SecretStr:
        # Read from a file, a key ends with a line break. What can't be sent would be shown in the error that says so.
        text = key.get_secret_value().strip()
        if not all("!" <= character <= "~" for character in text):
            raise ValueError("has a character that no key has: a blank, a line break, a typographic quote")
        return SecretStr(text)

    @property
    def offline(self) -> bool:
        """Whether nobody is there to ask."""
        return not self.base_url and not self.api_key.get_secret_value()


class TaskPolicy(Section):
    """How patiently one task is asked."""

    deadline_seconds: float = Field(default=30.0, gt=0, description="Wall time of all calls for one answer.")
    patience_seconds: float = Field(default=120.0, ge=0, description="Longest wait for a turn, beside the deadline.")
    attempts: int = Field(
        default=3, ge=1, le=10, description="Calls for one answer at most, one more after a reply out of form included."
    )
    weight: float = Field(default=1.0, ge=0, description="Its part of its model's limits, against the model's others.")

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.deadline_seconds + self.patience_seconds > LONGEST_ASK_SECONDS:
            raise ValueError(f"deadline and patience are more than {LONGEST_ASK_SECONDS:g} s together")
        return self


class ModelLimits(Section):
    """What one model takes and what it costs."""

    requests_per_minute: int = Field(default=60, ge=1, description="Of the whole fleet, in any 60 seconds.")
    tokens_per_minute: int = Field(default=100_000, ge=1, description="Of prompts and replies, of the whole fleet.")
    in_flight: int = Field(
        default=16,
        ge=1,
        description="Calls under way at once, of the whole fleet; one for each task of each process in any case.",
    )
    price_in: float | None = Field(default=None, ge=0, description="USD for a million tokens of prompts.")
    price_out: float | None = Field(default=None, ge=0, description="USD for a million tokens of replies.")
    thinking_tokens: int = Field(
        default=0,
        ge=0,
        description="Beyond a task's max_tokens, for what a model thinks unseen: sent along, booked, and believed.",
    )
    structured: bool = Field(default=False, description="Whether the server keeps replies to a JSON Schema.")


class ModelsSection(Section):
    """Tasks and models. A task or model that is not named is taken as ``default`` has it."""

    tasks: dict[str, TaskPolicy] = Field(default_factory=dict, description="By the name of the handler, or default.")
    limits: dict[str, ModelLimits] = Field(default_factory=dict, description="By the name of the model, or default.")
    replay_share: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Part of each task's limits that replays have; live traffic has the rest, whether one runs or not.",
    )

    def task(self, name: str) -> TaskPolicy:
        """How a task is asked."""
        return self.tasks.get(name) or self.tasks.get("default") or TaskPolicy()

    def limits_of(self, model: str) -> ModelLimits:
        """What a model takes and costs."""
        return self.limits.get(model) or self.limits.get("default") or ModelLimits()


def _check_address(text: str) -> None:
    """Raises ``ValueError``, without the address itself, where nobody could be asked there."""
    parts = urlsplit(text)
    spaced = any(character.isspace() for character in text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or spaced:
        raise ValueError("is no address: it begins with http:// or https:// and a host, as in http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("has a user or password in it, which others would see: use llm.api_key")
    if parts.query or parts.fragment or parts.path.endswith("/chat/completions"):
        raise ValueError("goes on too far: it ends before /chat/completions, as in http://localhost:8000/v1")
