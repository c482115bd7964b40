"""Which dead letters are meant: by handler, reason, stage, key and time of death. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from schemas.dead import DeadLetter
from schemas.outcome import DeadReason, Stage
from streams.topology import HANDLERS

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class SelectionError(Exception):
    """The selection can't be understood; the message says what can."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters are meant; what is empty or None leaves the choice open."""

    handlers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    stage: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def open(self) -> bool:
        """Whether it means every letter."""
        return self == Selection()

    def wants(self, handler: str) -> bool:
        """Whether a handler's letters can be meant."""
        return not self.handlers or handler in self.handlers

    def means(self, handler: str, key: bytes | None, note: DeadLetter) -> bool:
        """Whether a letter is meant."""
        died = _instant(note.died_at)
        return (
            self.wants(handler)
            and (not self.reasons or note.reason in self.reasons)
            and (self.stage is None or note.stage == self.stage)
            and (self.key is None or key == self.key.encode())
            and (self.since is None or (died is not None and died >= self.since))
            and (self.until is None or (died is not None and died < self.until))
        )


def selection_of(
    handlers: list[str], reasons: list[str], stage: str | None, key: str | None, since: str, until: str, now: datetime
) -> Selection:
    """A selection as it was typed.

    Raises:
        SelectionError: For an unknown handler, reason or stage, or a time that is none.
    """
    _known("handler", handlers, [handler.name for handler in HANDLERS])
    _known("reason", reasons, list(DeadReason))
    _known("stage", [stage] if stage else [], list(Stage))
    return Selection(
        tuple(handlers), tuple(reasons), stage, key, _moment("--since", since, now), _moment("--until", until, now)
    )


def _known(what: str, given: list[str], known: list[str]) -> None:
    if unknown := [name for name in given if name not in known]:
        raise SelectionError(f"there is no {what} {unknown[0]!r}; there are {', '.join(known)}")


def _moment(option: str, text: str, now: datetime) -> datetime | None:
    """An instant, or how long ago one was: ``2026-11-21T08:00``, ``90m``, ``7d``."""
    if not text:
        return None
    if (ago := re.fullmatch(r"(\d{1,6})([smhdw])", text)) is not None:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if (instant := _instant(text)) is None:
        raise SelectionError(f"{option} takes a time such as 2026-11-21T08:00 (UTC), or how long ago: 90m, 7d")
    return instant


def _instant(text: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
