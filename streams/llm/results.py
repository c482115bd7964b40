"""How one request to a model ended: with an answer, or with one of a few kinds of trouble.

The client says which; the gateway decides by it what comes next, and both are counted under an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from schemas.llm import CallOutcome
from streams.llm.replies import Completion, Usage


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
