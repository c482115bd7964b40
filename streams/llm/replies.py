"""Parses the response of a model server to a completion, and the outcomes of one request.

The parser never raises. It ignores counts that are not numbers and calls without a name. A body that is not a
completion gives None.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, TypeGuard

from pydantic_core import from_json

from schemas.llm import CallOutcome
from schemas.needs import ToolCall

_HIDDEN_TOKENS = 10_000  # tokens that a server may add to a prompt; otherwise a prompt has fewer tokens than bytes


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens, as the server counted them; of the reply at most the allowed number, else with ``excess``."""

    prompt_tokens: int
    completion_tokens: int
    excess: bool = False


@dataclass(frozen=True, slots=True)
class Completion:
    """The completion in a response: a reply, or the text of a refusal; "" for none.

    The outcome is ``OK``, ``TRUNCATED``, ``REFUSED`` or ``EMPTY``. The usage is None if the server didn't state it.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    outcome: CallOutcome
    usage: TokenUsage | None


def read_completion(body: bytes, sent_bytes: int, most_reply_tokens: int) -> Completion | None:
    """Parses a completion; None if the body is not a completion.

    A count of more prompt tokens than ``sent_bytes`` can have is ignored, because it would block the limits and the
    budget for days. A larger count than ``most_reply_tokens`` is reduced to that number, which was booked: it could
    otherwise block a model for minutes or use up a day's budget.
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
    listed = message.get("tool_calls")
    calls = tuple(filter(None, map(_tool_call, listed))) if isinstance(listed, list) else ()
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


def _tool_call(value: Any) -> ToolCall | None:
    function = value.get("function") if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(name := function.get("name"), str):
        return None
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        # Some servers send an object instead of its text.
        arguments = json.dumps(arguments)
    return ToolCall(str(value.get("id") or ""), name, arguments)


def _usage(value: Any, most_prompt_tokens: int, most_reply_tokens: int) -> TokenUsage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    if not _is_count(prompt) or not _is_count(completion) or prompt > most_prompt_tokens:
        return None
    return TokenUsage(prompt, min(completion, most_reply_tokens), completion > most_reply_tokens)


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


class FailureKind(Enum):
    REQUEST = "the server does not accept this request"
    LIMITED = "too many requests"
    PASSING = "the server failed"
    TIMEOUT = "no answer in time"
    DOWN = "the server can't be reached"
    ACCESS_DENIED = "the server accepts no request of ours"
    ADAPT = "the client leaves a parameter out from now on"


MAX_DETAIL = 300  # longest description of a failure, in characters
_OUTCOMES = {FailureKind.LIMITED: CallOutcome.RATE_LIMITED, FailureKind.TIMEOUT: CallOutcome.TIMEOUT}
"""The outcome of all other failures is ``ERROR``."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request without an answer.

    Attributes:
        cause: The failure in our own words, with advice. It may be logged and shown to other callers.
        after_seconds: How long the server asked to wait; None if it did not.
        server_text: The server's own text, or "". It may repeat the question, so only its caller may see it.
    """

    kind: FailureKind
    cause: str
    after_seconds: float | None = None
    server_text: str = ""
    usage: ClassVar[None] = None

    @property
    def detail(self) -> str:
        return f"{self.cause}: {self.server_text}"[:MAX_DETAIL] if self.server_text else self.cause

    @property
    def outcome(self) -> CallOutcome:
        return _OUTCOMES.get(self.kind, CallOutcome.ERROR)


@dataclass(frozen=True, slots=True)
class Answer:
    """A completion, and the limits that its headers state (a minute's requests and tokens)."""

    completion: Completion
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None

    @property
    def outcome(self) -> CallOutcome:
        return self.completion.outcome

    @property
    def usage(self) -> TokenUsage | None:
        return self.completion.usage
