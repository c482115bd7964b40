"""Dead letters in plain JSON types: their notes, headers and values, and counts by handler and reason."""

from __future__ import annotations

from base64 import b64encode
from collections import defaultdict
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any

from streams.dlq.dead_letters import DeadLetterRecord


@dataclass(slots=True)
class _Count:
    waiting: int = 0
    redriven: int = 0
    bytes: int = 0
    oldest: str = ""
    newest: str = ""


class LetterCounts:
    """Dead letters by handler and reason."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], _Count] = defaultdict(_Count)

    def add(self, letter: DeadLetterRecord) -> None:
        count, died = self._counts[letter.handler, letter.note.reason], letter.note.died_at
        count.redriven += letter.redriven_by is not None
        count.waiting += letter.redriven_by is None
        count.bytes += letter.size
        count.oldest, count.newest = min(count.oldest or died, died), max(count.newest, died)

    @property
    def waiting(self) -> int:
        return sum(count.waiting for count in self._counts.values())

    def rows(self, *, everything: bool = False) -> list[dict[str, Any]]:
        """A row for each handler and reason; unless ``everything``, only those with waiting letters."""
        return [
            {"handler": handler, "reason": reason, **asdict(count)}
            for (handler, reason), count in sorted(self._counts.items(), key=itemgetter(0))
            if everything or count.waiting
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
