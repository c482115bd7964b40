"""What is kept of an answer, and how it is found again: the key is a hash of everything that it depends on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Literal

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
