"""Dead letters in plain JSON types: their notes, headers and values, and counts by handler and reason."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import Any

from streams.dlq.dead_letters import DeadLetterRecord


@dataclass(slots=True)
class _Count:
    waiting: int = 0
    redriven: int = 0
    size: int = 0
    oldest: str = ""
    newest: str = ""


@dataclass(slots=True)
class LetterCounts:
    _counts: dict[tuple[str, str], _Count] = field(default_factory=dict)

    def add(self, letter: DeadLetterRecord) -> None:
        its = self._counts.setdefault((letter.handler, letter.note.reason), _Count())
        its.redriven += letter.redriven_by is not None
        its.waiting += letter.redriven_by is None
        its.size += letter.size
        died = letter.note.died_at
        its.oldest, its.newest = min(its.oldest or died, died), max(its.newest, died)

    @property
    def waiting(self) -> int:
        return sum(its.waiting for its in self._counts.values())

    def rows(self, *, everything: bool = False) -> list[dict[str, Any]]:
        """A row for each handler and reason; unless ``everything``, only those with waiting letters."""
        return [
            {
                "handler": handler,
                "reason": reason,
                "waiting": its.waiting,
                "redriven": its.redriven,
                "bytes": its.size,
                "oldest": its.oldest,
                "newest": its.newest,
            }
            for (handler, reason), its in sorted(self._counts.items())
            if everything or its.waiting
        ]


def described(letter: DeadLetterRecord) -> dict[str, Any]:
    note = letter.note
    return {
        "id": letter.id,
        "reason": note.reason,
        "stage": note.stage,
        "error": note.error,
        "died_at": note.died_at,
        "from": f"{note.topic}/{note.partition}/{note.offset}",
        "root_id": note.root_id,
        "key": None if letter.record.key is None else letter.record.key.decode("utf-8", "replace"),
        "bytes": note.original_size or letter.size,
        "redriven_by": letter.redriven_by,
    }


def header_texts(letter: DeadLetterRecord) -> dict[str, str | None]:
    """The headers as text; bytes that are not UTF-8 are escaped."""
    return {
        name: None if value is None else value.decode("utf-8", "backslashreplace")
        for name, value in letter.record.headers
    }


def shown_value(value: bytes, most: int) -> Any:
    """The beginning of a value: text where it is text, else base64."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(value[:most]).decode()}
    return text[:most] + ("…" if len(text) > most else "")
