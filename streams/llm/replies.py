"""Parses the response of a model server to a completion, and the outcomes of one request.

The parser never raises. It ignores counts that are not numbers and calls without a name. A body that is not a
completion gives None.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeGuard

from pydantic_core import from_json

from schemas.llm import CallOutcome
from schemas.needs import ToolCall

_HIDDEN_TOKENS = 10_000
"""A prompt has less tokens than bytes, except for what a server puts around it unseen."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them.

    Attributes:
        prompt_tokens: Of the prompt.
        completion_tokens: Of the reply, never more than it may have.
        excess: Whether the server said more than that.
    """

    prompt_tokens: int
    completion_tokens: int
    excess: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """What came.

    Attributes:
        text: The reply, or what was said in refusing it; "" where there was none.
        tool_calls: Tools that the model wants called.
        outcome: ``OK``, ``TRUNCATED``, ``REFUSED`` or ``EMPTY``.
        usage: None where the server didn't say.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    outcome: CallOutcome
    usage: Usage | None


def read_completion(body: bytes, sent_bytes: int, most_reply_tokens: int) -> Completion | None:
    """A completion from its JSON; None where it is none.

    Args:
        body: The response.
        sent_bytes: Size of the request: a prompt of more tokens than it can have is not believed, for limits and the
            budget would stand still for days.
        most_reply_tokens: That were allowed. What is said to be more is taken for as many, as they were booked: one
            such number would otherwise hold a model up for minutes, or spend a day's budget.
    """
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError:
        return None
    choices = content.get("choices") if isinstance(content, dict) else None
    if not isinstance(choices, list):
        return None
    usage = _usage(content.get("usage"), sent_bytes + _HIDDEN_TOKENS, most_reply_tokens)
    if not choices:
        return Completion("", (), CallOutcome.EMPTY, usage)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return None
    text, refusal = message.get("content"), message.get("refusal")
    if text is not None and not isinstance(text, str):
        return None
    calls = _tool_calls(message.get("tool_calls"))
    finish_reason = choice.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return Completion(refusal, (), CallOutcome.REFUSED, usage)
    if finish_reason == "content_filter":
        return Completion(text or "", (), CallOutcome.REFUSED, usage)
    if finish_reason == "length":
        return Completion(text or "", calls, CallOutcome.TRUNCATED, usage)
    if not calls and not (text or "").strip():
        return Completion("", (), CallOutcome.EMPTY, usage)
    return Completion(text or "", calls, CallOutcome.OK, usage)


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    return tuple(call for item in value if (call := _tool_call(item))) if isinstance(value, list) else ()


def _tool_call(value: Any) -> ToolCall | None:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(name := function.get("name"), str):
        return None
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        # Some servers send an object instead of its text.
        arguments = json.dumps(arguments)
    return ToolCall(str(value.get("id") or ""), name, arguments)


def _usage(value: Any, most_prompt_tokens: int, most_reply_tokens: int) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    if not _is_count(prompt) or not _is_count(completion) or prompt > most_prompt_tokens:
        return None
    return Usage(prompt, min(completion, most_reply_tokens), completion > most_reply_tokens)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class Trouble(Enum):
    """What kind of trouble a request met."""

    REQUEST = "the server does not take this request"
    LIMITED = "too many requests"
    PASSING = "the server failed"
    TIMEOUT = "no answer in time"
    DOWN = "nobody can be asked"
    SHUT = "the server takes no request of ours"
    ADAPT = "a parameter is left out from now on"


MAX_DETAIL = 300
"""Characters of trouble that are told."""
_OUTCOMES = {Trouble.LIMITED: CallOutcome.RATE_LIMITED, Trouble.TIMEOUT: CallOutcome.TIMEOUT}
"""All other trouble is an error."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request without an answer.

    Attributes:
        kind: What kind of trouble.
        cause: What we know of it, with what to look at; may be shown to whoever asks next, and logged.
        after_seconds: How long the server wants to be left alone, if it said so.
        said: The server's own words, which may repeat the question: for its asker alone; "" where there are none.
    """

    kind: Trouble
    cause: str
    after_seconds: float | None = None
    said: str = ""

    @property
    def detail(self) -> str:
        """All of it, for who has asked."""
        return f"{self.cause}: {self.said}"[:MAX_DETAIL] if self.said else self.cause

    @property
    def outcome(self) -> CallOutcome:
        """What it is counted as."""
        return _OUTCOMES.get(self.kind, CallOutcome.ERROR)

    @property
    def usage(self) -> Usage | None:
        """Nobody has counted tokens."""
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion, and the limits that its headers state (a minute's requests and tokens)."""

    completion: Completion
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def outcome(self) -> CallOutcome:
        """What it is counted as."""
        return self.completion.outcome

    @property
    def usage(self) -> Usage | None:
        """Tokens, as the server counted them; None where it did not say."""
        return self.completion.usage
