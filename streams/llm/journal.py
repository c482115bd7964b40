"""The port of the answer journal: stored answers, daily costs, and the real use of earlier calls.

The key of an answer is a hash of everything that the answer depends on. First questions of a conversation and follow-up
questions are counted separately, because follow-ups are longer and not every conversation has them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Literal, NamedTuple, Protocol

from pydantic import ValidationError

from schemas.event import Event
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import AskModel, ToolCall
from schemas.replies import ModelFailed, ModelReply

RAW_CHARACTERS = 2000


class KeptCall(Event):
    """A tool that the model wanted called."""

    id: str
    name: str
    arguments: str


class Kept(Event):
    """An answer as it stands in the journal."""

    text: str
    tool_calls: tuple[KeptCall, ...] = ()
    outcome: CallOutcome
    prompt_tokens: int = 0
    completion_tokens: int = 0


def answer_key(need: AskModel, model: str, server: str = "") -> str:
    """The key of an answer: task, prompt, model, server, question, parameters and the number of the try.

    Args:
        need: The question.
        model: Whom it is for.
        server: Where the model is; servers may give one name to different models.
    """
    question = {
        "messages": [asdict(message) for message in need.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
            for tool in need.tools
        ],
        "schema": None if need.schema is None else dict(need.schema),
        "max_tokens": need.max_tokens,
        "temperature": need.temperature,
    }
    parts = [need.task, need.prompt_version, model, server, question, need.try_number]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


def from_journal(text: str) -> Kept | None:
    """An answer from its JSON; None where it can't be read any more."""
    try:
        return Kept.model_validate_json(text)
    except ValidationError:
        return None


def reply_of(
    kept: Kept,
    need: AskModel,
    model: str,
    judged_by: Literal["model", "offline"] = "model",
    attempts: int = 0,
    latency_ms: int = 0,
    cost_usd: float | None = 0.0,
    cached: bool = False,
) -> ModelReply | ModelFailed:
    """What the handler is told of an answer."""
    raw = kept.text or json.dumps([[call.name, call.arguments] for call in kept.tool_calls])
    call = LlmCall(
        judged_by=judged_by,
        model=model,
        prompt_version=need.prompt_version,
        temperature=need.temperature,
        attempts=attempts,
        latency_ms=latency_ms,
        prompt_tokens=kept.prompt_tokens,
        completion_tokens=kept.completion_tokens,
        cost_usd=cost_usd,
        cached=cached,
        outcome=kept.outcome,
        raw=raw.replace("\x00", "")[:RAW_CHARACTERS] if kept.text or kept.tool_calls else None,
    )
    if kept.outcome is not CallOutcome.OK:
        return ModelFailed(call, f"the reply was {kept.outcome}")
    return ModelReply(kept.text, tuple(ToolCall(c.id, c.name, c.arguments) for c in kept.tool_calls), call)


class JournalError(Exception):
    """The journal can't be read or written now."""


class BoundReachedError(JournalError):
    """The call would cost more than is left of a bound that is no day's: a replay's, that waits for somebody."""


class AnswerJournal(Protocol):
    """Answers by key, costs by account (a day, or a replay), and what calls took.

    Every method raises ``JournalError`` where it can't do its work.
    """

    async def get(self, key: str, now: float) -> str | None:
        """The answer that was kept, as JSON; None where there is none."""
        ...

    async def keep(
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        """Keeps an answer for so long, books costs and notes what the call took, all or nothing.

        Returns:
            The day's costs then.
        """
        ...

    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        """Books costs unless the day's would come above ``most``; returns whether, and the day's costs then."""
        ...

    async def experience(self, task: str, model: str) -> Experience:
        """What the task's calls of the model have taken so far."""
        ...

    async def aclose(self) -> None:
        """Closes what is open, after what is under way."""
        ...


class Usage(NamedTuple):
    """Sums over calls that were answered.

    Attributes:
        calls: How many.
        estimated: Tokens of their prompts as estimated before anybody had counted (``prompt_tokens_of``).
        prompt: Tokens of their prompts as the server counted them.
        completion: Tokens of their replies.
        milliseconds: That they took.
    """

    calls: int = 0
    estimated: int = 0
    prompt: int = 0
    completion: int = 0
    milliseconds: int = 0


class Used(NamedTuple):
    """What one call took, and whose it was."""

    task: str
    model: str
    opening: bool
    usage: Usage


class Experience(NamedTuple):
    """What all kept calls of a task and model took: those that began a conversation, and those that went on."""

    openings: Usage = Usage()
    followups: Usage = Usage()


def is_opening(need: AskModel) -> bool:
    """Whether a question begins a conversation: nobody has said anything yet, and it was not asked before."""
    return need.try_number == 1 and all(message.role in ("system", "user") for message in need.messages)
