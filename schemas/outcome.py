"""What a handler decides: an outcome with a reason.

An expected refusal is a value with an enum reason, never an exception; the reason is a metric label. A handler that
can't decide yet returns an ``Ask`` (``schemas.needs``) in place of an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemas.event import Event


class DropReason(StrEnum):
    """Why an input rightly has no output."""

    NOTHING_TO_DO = "nothing_to_do"


class RetryReason(StrEnum):
    """Why an input should be tried again later."""

    UNAVAILABLE = "unavailable"
    RATE_LIMITED = "rate_limited"


class DeadReason(StrEnum):
    """Why an input went to the dead letter topic."""

    UNDECODABLE = "undecodable"
    INVALID = "invalid"
    UNKNOWN_VERSION = "unknown_version"
    TOO_LARGE = "too_large"
    BAD_ADDRESS = "bad_address"
    BAD_INSTANT = "bad_instant"
    UNREADABLE_PAGE = "unreadable_page"
    TOO_COMPLEX = "too_complex"
    HANDLER_BUG = "handler_bug"
    TOOK_TOO_LONG = "took_too_long"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    ROUNDS_EXHAUSTED = "rounds_exhausted"
    RETRIES_EXHAUSTED = "retries_exhausted"
    OUTPUT_TOO_LARGE = "output_too_large"
    OUTPUT_INVALID = "output_invalid"


CHILD_ENDS = (DeadReason.TOOK_TOO_LONG, DeadReason.OUT_OF_MEMORY, DeadReason.CRASHED)
"""Reasons for which a record ends the child process that handles it."""


class Stage(StrEnum):
    """Where in the pipeline a record was refused."""

    DECODE = "decode"
    HANDLE = "handle"
    ENCODE = "encode"


@dataclass(frozen=True, slots=True)
class Emit:
    """The input was handled; the shell writes these events in this order. Each event's type decides its topic."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """The input was handled and has no output, on purpose."""

    reason: DropReason


@dataclass(frozen=True, slots=True)
class ServiceTrouble:
    """The state of a service that answered no request at all, so that no other input fares better.

    Attributes:
        cause: For logs and probes. It contains no words of the service, which may repeat another user's request.
        busy: The service works and all its turns are taken: a backlog, not a failure.
        lasting: Waiting does not help, for example because a key is refused.
    """

    cause: str
    busy: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """The input could not be handled now.

    Attributes:
        reason: The metric label.
        detail: For people.
        after_seconds: The provider's Retry-After; None if it stated none.
        trouble: None if only this input is known to have failed.
    """

    reason: RetryReason
    detail: str = ""
    after_seconds: float | None = None
    trouble: ServiceTrouble | None = None


@dataclass(frozen=True, slots=True)
class Dead:
    """The input can't be handled as it is; it is kept in the dead letter topic."""

    reason: DeadReason
    detail: str = ""


Outcome = Emit | Drop | Retry | Dead
