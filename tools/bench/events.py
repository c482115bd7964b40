"""The small events of the benchmark, and the functions that all contestants run on them."""

from schemas.event import Event
from schemas.outcome import Emit
from schemas.rules import Rules

NOTES = "bench.notes.v1"
SEEN = "bench.seen.v1"


class Note(Event):
    """About 1 KB of text."""

    note_id: str
    text: str


class Seen(Event):
    """A note passed."""

    note_id: str
    length: int


class NoRules(Rules):
    """The rules of a handler without configuration."""


def see(note: Note, rules: Rules) -> Emit:
    """One small event for each note."""
    return Emit((Seen(note_id=note.note_id, length=len(note.text)),))


def note(number: int) -> tuple[bytes, bytes]:
    """The n-th note as a record's key and value, 1 KB."""
    words = (f"w{(number * 7919 + place * 104_729) % 9973}" for place in range(170))
    event = Note(note_id=f"note-{number}", text=" ".join(words)[:980])
    return event.note_id.encode(), event.to_json()
