"""The result and the cost of a model call, as part of every decision that uses a model (R-272)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from schemas.event import CamelPart, Part


class CallOutcome(StrEnum):
    """How a call ended; a metric label."""

    OK = "ok"
    TIMEOUT = "timeout"
    ERROR = "error"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    EMPTY = "empty"


class LlmCall(Part):
    """One question to a judge and what it cost.

    Attributes:
        judged_by: ``model``, or ``offline`` for the deterministic judge that answers if no model is configured.
        model: The model's name as configured; ``offline`` for the offline judge.
        prompt_version: Hash of the prompt's template.
        attempts: Requests sent for this answer; 0 if it came from the cache.
        latency_ms: Time of the requests, without the time spent waiting for a turn.
        cost_usd: By the configured prices; null if the model has no price.
        cached: Whether the answer was stored by an earlier call and cost nothing now.
        outcome: How the call ended.
        call_id: The key of the reply in the journal of model answers, for ``assay why --reply``. It is a hash of the
            question, so a replay writes the same id. Null if no reply is stored: for the offline judge, for a failed
            call, and if the journal could not be written. A journal in memory ends with its process.
    """

    judged_by: Literal["model", "offline"]
    model: str
    prompt_version: str
    temperature: float
    attempts: int = Field(default=0, ge=0)
    latency_ms: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    completion_tokens: int = Field(default=0, ge=0)
    cost_usd: float | None = Field(default=None, ge=0)
    cached: bool = False
    outcome: CallOutcome
    call_id: str | None = Field(default=None, max_length=64)


class CamelLlmCall(LlmCall, CamelPart):
    """A call of a judge, with wire names in camelCase."""
