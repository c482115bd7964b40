"""Which points to write and to remove so that the index has a document's points and no others.

The first point of a document remembers the others, so no write needs a search. It is written first, and remembers all
points that may exist until everything is written and removed: the next write repairs what a crash in between leaves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from handlers.indexing.points import CHUNK, SINGLE_KINDS, point_id
from schemas.needs import IndexDocument, IndexPoint

MEMORY = "assay"
"""The payload key under which the first point remembers: version, fingerprint, and chunks that may be there."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    """Steps, in this order.

    Attributes:
        outdated: The index has a newer version; there is nothing to do.
        write: Points to write, in this order, the first of them with ``memory`` in its payload.
        memory: What the first point remembers until all is done.
        remove: Ids of points to remove.
        settle: What the first point remembers at the end; None where ``memory`` is that already.
    """

    outdated: bool = False
    write: tuple[IndexPoint, ...] = ()
    memory: Mapping[str, Any] | None = None
    remove: tuple[str, ...] = ()
    settle: Mapping[str, Any] | None = None


def places_to_read(document_id: str) -> tuple[str, ...]:
    """Ids of the points that may be the first of a document."""
    return tuple(point_id(document_id, kind) for kind in SINGLE_KINDS)


def plan_write(
    document: IndexDocument, run: str | None, embedder: str, stored: Mapping[str, Mapping[str, Any]]
) -> WritePlan:
    """Compares a document with what the index holds of it.

    Args:
        document: As it should be.
        run: The replay that writes it; None for live traffic. A replay's write of the same fetch is newer.
        embedder: Name of the embedder; a different one makes every point new.
        stored: Payloads of those of ``places_to_read`` that are there, by id.
    """
    version = (_instant(document.fetched_at), run or "")
    memories = [memory for payload in stored.values() if isinstance(memory := payload.get(MEMORY), Mapping)]
    if any(_version(memory) > version for memory in memories):
        return WritePlan(outdated=True)
    chunks = sum(point.kind == CHUNK for point in document.points)
    seen = max([chunks, *(_count(memory.get("chunks")) for memory in memories)])
    wanted = {point.id for point in document.points}
    there = {*stored, *(point_id(document.document_id, CHUNK, number) for number in range(seen))}
    remove = tuple(sorted(there - wanted))
    settled = {
        "fetched_at": version[0],
        "run": version[1],
        "fingerprint": _fingerprint(document, embedder),
        "chunks": chunks,
    }
    first = stored.get(document.points[0].id)
    known = first.get(MEMORY) if first else None
    if isinstance(known, Mapping) and known.get("fingerprint") == settled["fingerprint"] and not remove:
        return WritePlan(settle=None if known == settled else settled)
    if not remove and len(document.points) == 1:
        return WritePlan(write=document.points, memory=settled)
    unsettled = {**settled, "fingerprint": "", "chunks": seen}
    return WritePlan(write=document.points, memory=unsettled, remove=remove, settle=settled)


def _instant(at: datetime | None) -> str:
    """An instant as text that sorts by time; "" for None."""
    if at is None:
        return ""
    try:
        return (at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
    except OverflowError:  # within a day of the calendar's ends
        return at.replace(tzinfo=UTC).isoformat()


def _version(memory: Mapping[str, Any]) -> tuple[str, str]:
    return str(memory.get("fetched_at") or ""), str(memory.get("run") or "")


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= 1_000_000 else 0


def _fingerprint(document: IndexDocument, embedder: str) -> str:
    """Equal for equal ids, texts, payloads and embedder."""
    content = [[point.id, point.text, dict(point.payload)] for point in document.points]
    told = json.dumps([embedder, content], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]
