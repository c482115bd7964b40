"""What sources said that were read already, so that the next query that finds them relevant has it at once.

In: an address and the hash of the content. Out: the passage, or that it has to be read. Nothing depends on what is
remembered, for a passage follows from its content; durable are the events, which carry the same hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Passage:
    """What a source says; the text is "" where it says nothing, which is remembered too (R-124)."""

    title: str
    text: str


@dataclass(slots=True)
class Passages:
    """Passages by address and content, the oldest given up first (R-125, R-131).

    They follow from what was read, so remembering them saves time and changes nothing. They are asked for only when a
    source has been found relevant: a passage that one query was given says nothing on the next one.
    """

    most: int
    _passages: dict[tuple[str, ...], Passage] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._passages)

    def get(self, place: tuple[str, ...]) -> Passage | None:
        """The passage of a place; None where it is not remembered."""
        return self._passages.get(place)

    def keep(self, place: tuple[str, ...], passage: Passage) -> None:
        """Remembers a passage, and forgets the oldest where there are too many."""
        self._passages[place] = passage
        while len(self._passages) > self.most:
            del self._passages[next(iter(self._passages))]
