"""How far a run is in its sources, and whether they are still what it read.

Entries go in one after another; what comes out at any time is a position, a few hundred bytes of text that stand in
Kafka beside the records up to there. It is found again by going through the same entries and comparing digests, so it
depends neither on the names of files nor on how they are packed.
"""

from __future__ import annotations

from hashlib import sha256

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_DIGEST_CHARACTERS = 32


class Position(BaseModel):
    """Everything of a run's sources up to here has been dealt with.

    Attributes:
        source: Which of the sources, from 0.
        entries: Entries of that source.
        digest: Of what tells those entries from others.
        before: Of the digests of the sources before it; "" for the first.
        published: Records of the run that stand in the topic.
        refused: Entries that were refused.
        kept: Bytes of the file in which the refused entries are kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: int = Field(default=0, ge=0)
    entries: int = Field(default=0, ge=0)
    digest: str = ""
    before: str = ""
    published: int = Field(default=0, ge=0)
    refused: int = Field(default=0, ge=0)
    kept: int = Field(default=0, ge=0)

    def to_text(self) -> str:
        """As it is kept: under 300 characters of the 4,096 that Kafka takes beside an offset."""
        return self.model_dump_json()


def position_of(text: str) -> Position | None:
    """A position that was kept; None for a text that is none."""
    try:
        return Position.model_validate_json(text)
    except ValidationError:
        return None


class Tracker:
    """Follows the entries of the sources and knows the place after each."""

    def __init__(self) -> None:
        """Starts before the first entry of the first source."""
        self._source = 0
        self._entries = 0
        self._running = sha256()
        self._before = ""

    def passed(self, source: int, trace: bytes) -> None:
        """One more entry was read.

        Args:
            source: Which source it is of; never one before those that were passed.
            trace: What tells it from others.
        """
        while self._source < source:
            self._before = _short(f"{self._before}{self._digest()}".encode())
            self._source, self._entries, self._running = self._source + 1, 0, sha256()
        self._entries += 1
        self._running.update(b"%d:" % len(trace))
        self._running.update(trace)

    def reached(self, target: Position) -> bool:
        """Whether as many entries were passed as the target says; whether they were the same ``at`` tells."""
        return (self._source, self._entries) >= (target.source, target.entries)

    def at(self, counted: Position) -> Position:
        """The place reached, with the counts of another position; equal to that one where all entries were the same."""
        digest = self._digest() if self._entries else ""
        place = {"source": self._source, "entries": self._entries, "digest": digest, "before": self._before}
        return counted.model_copy(update=place)

    def _digest(self) -> str:
        return self._running.hexdigest()[:_DIGEST_CHARACTERS]


def _short(text: bytes) -> str:
    return sha256(text).hexdigest()[:_DIGEST_CHARACTERS]
