"""Selects dead letters by the options of a command: handler, reason, stage, key and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from schemas.outcome import DeadReason, Stage
from streams.runtime.clock import instant_of
from streams.topology import HANDLERS

if TYPE_CHECKING:
    from streams.dlq.dead_letters import DeadLetterRecord


class SelectionError(Exception):
    """The selection is wrong; the message says what is possible."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects dead letters; an empty or None field selects all."""

    handlers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    stage: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def open(self) -> bool:
        return self == Selection()

    def wants(self, handler: str) -> bool:
        return not self.handlers or handler in self.handlers

    def means(self, letter: DeadLetterRecord) -> bool:
        note, died = letter.note, instant_of(letter.note.died_at, datetime.now(UTC))
        return (
            self.wants(letter.handler)
            and (not self.reasons or note.reason in self.reasons)
            and (self.stage is None or note.stage == self.stage)
            and (self.key is None or letter.record.key == self.key.encode())
            and (self.since is None or (died is not None and died >= self.since))
            and (self.until is None or (died is not None and died < self.until))
        )


def selection_of(
    handlers: list[str], reasons: list[str], stage: str | None, key: str | None, since: str, until: str, now: datetime
) -> Selection:
    """The selection of the options of a command.

    Raises SelectionError if a handler, reason or stage is unknown, or a time is wrong.
    """
    _known("handler", handlers, [handler.name for handler in HANDLERS])
    _known("reason", reasons, list(DeadReason))
    _known("stage", [stage] if stage else [], list(Stage))
    return Selection(
        tuple(handlers), tuple(reasons), stage, key, moment("--since", since, now), moment("--until", until, now)
    )


def _known(what: str, given: list[str], known: list[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        raise SelectionError(f"there is no {what} {unknown[0]!r}; there are {', '.join(known)}")


def moment(option: str, text: str, now: datetime) -> datetime | None:
    """The instant of an option, as of ``instant_of``; None if it is not given. Raises SelectionError."""
    if text and (instant := instant_of(text, now)) is not None:
        return instant
    if text:
        raise SelectionError(f"{option} takes a time such as 2026-11-21T08:00 (UTC), or how long ago: 90m, 7d")
    return None
