"""What has to change in the index so that a document has its points and no others.

The document as it should be and what the index holds of it go in; points to write and to remove come out. Pure, so that
crossing tiers, late versions and a crash between two writes can be tried by the thousand.

The first point of a document remembers what else there is, so that nothing is ever searched for. It is written before
the others, and remembers all that may be there until everything is written and removed: whoever dies in between leaves
a document that the next write puts right.
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
    """What to do, in this order.

    Attributes:
        outdated: The index has a newer version; nothing is to be done.
        write: Points to write, in this order, the first of them with ``memory`` in its payload.
        memory: What the first point remembers until all is done.
        remove: Ids of points to remove.
        settle: What the first point remembers then; None where ``memory`` says so already.
    """

    outdated: bool = False
    write: tuple[IndexPoint, ...] = ()
    memory: Mapping[str, Any] | None = None
    remove: tuple[str, ...] = ()
    settle: Mapping[str, Any] | None = None


def places_to_read(document_id: str) -> tuple[str, ...]:
    """Ids of the points that tell what the index has of a document."""
    return tuple(point_id(document_id, kind) for kind in SINGLE_KINDS)


def plan_write(
    document: IndexDocument, run: str | None, embedder: str, stored: Mapping[str, Mapping[str, Any]]
) -> WritePlan:
    """Compares a document with what the index holds of it.

    Args:
        document: As it should be.
        run: The replay that writes it; None for live traffic. Of two writes of the same fetch, a replay's is newer.
        embedder: What makes the vectors; another one makes every point new.
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
    """An instant as text that sorts by time, in whatever zone it was told; "" for none."""
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
    """Equal for equal points: their ids, texts, payloads and the maker of their vectors."""
    content = [[point.id, point.text, dict(point.payload)] for point in document.points]
    told = json.dumps([embedder, content], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]
