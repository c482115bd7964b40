"""The index points of a scored page: texts, payloads and stable ids, and which of them to write.

The chunking of the page's tier decides: ``full`` gives an embedding of the article and its chunks, ``rough`` the
beginning and the summary, ``none`` the article alone (R-210 to R-213). The first point of a document remembers the
others, so a write needs no search. It is written first, and remembers all points that may exist until everything is
written and removed. If a write is interrupted, the next one repairs it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from handlers.html.links import host_of, registrable_domain
from handlers.indexing.chunks import chunk_text
from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.text.dates import iso_text
from schemas.documents import IndexChange
from schemas.event import Run, derive_id
from schemas.needs import IndexDocument, IndexPoint
from schemas.pages import ScoredPage, Tier, without_passages
from schemas.replies import IndexReply

ARTICLE, CHUNK, BEGINNING, SUMMARY, REMOVED = "article", "chunk", "beginning", "summary", "removed"
_LINE_CHARACTERS = 500
_NAME_CHARACTERS = 200
_MAX_AUTHORS = 20
"""Bounds of titles and names: each of a page's hundreds of points carries them."""
SINGLE_KINDS = (ARTICLE, BEGINNING, SUMMARY)
"""A document has at most one point of each of these kinds."""
MEMORY = "assay"
"""The payload key under which the first point remembers: version, fingerprint, and chunks that may be there."""


def document_id_of(url: str) -> str:
    """The document's id, which depends on the address only."""
    return derive_id("document", url)


def point_id(document_id: str, kind: str, ordinal: int = 0) -> str:
    """The id of a point, the same for the same place in the same document (R-223)."""
    return derive_id("point", document_id, kind, ordinal)


def chunking_of(tier: Tier, tiers: TieredIndexingSection) -> str:
    """``full``, ``rough`` or ``none``, as the configuration says for a tier (R-213)."""
    return {"A": tiers.tier_a.chunking, "B": tiers.tier_b.chunking, "C": tiers.tier_c.chunking}[tier]


def points_of(page: ScoredPage, tiers: TieredIndexingSection, rules: IndexPointsSection) -> tuple[IndexPoint, ...]:
    """The points of a page, at least one (R-224, C-37).

    ``rough`` gives one point where the summary has no words of its own. A page without any text has one point,
    of its title or its address.
    """
    document_id = document_id_of(page.url)
    payload = _payload(page, document_id)
    chunking = chunking_of(page.tier, tiers)
    summary, whole = page.summary.strip(), without_passages(page.content, page.suspected)
    content = whole.strip()
    paths: list[tuple[str, ...]] = []
    if chunking == "rough":
        beginning = content[: tiers.tier_b.max_chars].strip()
        texts = [(BEGINNING, 0, beginning or summary)]
        if summary and beginning and not set(summary.split()) <= set(beginning.split()):
            texts.append((SUMMARY, 0, summary))
    else:
        article = "" if _begins_with(content, summary) else summary
        texts = [(ARTICLE, 0, _joined(article, content[: rules.article_characters].strip()))]
    if chunking == "full":
        chunks = chunk_text(whole, tiers.tier_a.max_chunk_size, rules.chunk_unit, page.blocks)
        texts += [(CHUNK, ordinal, chunk) for ordinal, chunk in enumerate(chunks)]
        paths = heading_paths(page, chunks)
    return tuple(
        IndexPoint(
            point_id(document_id, kind, ordinal),
            kind,
            # The title says what a part of a text is about.
            _joined(payload["title"], text) or page.url,
            payload | {"kind": kind, "ordinal": ordinal, "text": text} | _headings(kind, ordinal, paths),
        )
        for kind, ordinal, text in texts
    )


def heading_paths(page: ScoredPage, chunks: Sequence[str]) -> list[tuple[str, ...]]:
    """The headings above each chunk of the content, the widest first."""
    headings = [block for block in page.blocks if block["kind"] == "heading"]
    opened: list[tuple[int, str]] = []
    content, paths, at = without_passages(page.content, page.suspected), [], 0
    for chunk in chunks:
        first = chunk.partition("\n")[0]
        at = max(at, content.find(first, at))
        while headings and headings[0]["start"] <= at:
            heading = headings.pop(0)
            level = heading.get("level", 1)
            opened = [above for above in opened if above[0] < level]
            opened.append((level, content[heading["start"] : heading["end"]][:_LINE_CHARACTERS]))
        paths.append(tuple(text for _, text in opened))
        at += len(first)
    return paths


def _headings(kind: str, ordinal: int, paths: Sequence[tuple[str, ...]]) -> dict[str, list[str]]:
    return {"headings": list(paths[ordinal])} if kind == CHUNK and paths[ordinal] else {}


def removed_points(url: str) -> tuple[IndexPoint, ...]:
    """The one point of a page that no longer exists: it remembers the version, and searches pass over it.

    Its text is the document's id, so that many removed pages are near no query.
    """
    document_id = document_id_of(url)
    payload = {"document_id": document_id, "kind": REMOVED}
    return (IndexPoint(point_id(document_id, ARTICLE), REMOVED, document_id, payload),)


def index_change(reply: IndexReply) -> IndexChange:
    """Whether a write changed the index."""
    if reply.outdated:
        return IndexChange.OUTDATED
    return IndexChange.WRITTEN if reply.written or reply.removed else IndexChange.UNCHANGED


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
    document: IndexDocument, run: Run | None, embedder: str, stored: Mapping[str, Mapping[str, Any]]
) -> WritePlan:
    """Compares a document with what the index holds of it.

    Args:
        document: As it should be.
        run: The run that writes it, whose beginning orders versions of one fetch; None for live traffic, the oldest.
        embedder: Name of the embedder; a different one makes every point new.
        stored: Payloads of those of ``places_to_read`` that are there, by id.
    """
    version = (_instant(document.fetched_at), _instant(run.began if run else None))
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
        "run_began": version[1],
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


def _begins_with(content: str, summary: str) -> bool:
    """Whether a text begins with the words of its summary, whatever white space is between them."""
    words = summary.split()
    return content[: 2 * len(summary) + _LINE_CHARACTERS].split()[: len(words)] == words


def _joined(*parts: str) -> str:
    return "\n".join(filter(None, parts))


def _payload(page: ScoredPage, document_id: str) -> dict[str, Any]:
    """The payload of every point of a page: enough to filter, show and rank a result without another look-up."""
    return {
        "document_id": document_id,
        "url": page.url,
        "domain": registrable_domain(host_of(page.url)),
        "title": page.title[:_LINE_CHARACTERS].strip(),
        "date": iso_text(page.date) if page.date else None,
        "author": [author[:_NAME_CHARACTERS] for author in page.authors[:_MAX_AUTHORS]],
        "site_name": page.site_name and page.site_name[:_NAME_CHARACTERS],
        **({"publisher": page.publisher[:_NAME_CHARACTERS]} if page.publisher else {}),
        "language": page.language,
        "tier": page.tier,
        "cts_score": page.cts_score,
        "trust_label": page.trust_label,
        **({"gives_orders": True} if page.gives_orders else {}),
        **({"source": page.source, "support_score": page.support} if page.source else {}),
        "trust_features": page.trust_features.model_dump(mode="json"),
    }


def _instant(at: datetime | None) -> str:
    """An instant as text that sorts by time; "" for None."""
    if at is None:
        return ""
    try:
        return (at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
    except OverflowError:  # within a day of the calendar's ends
        return at.replace(tzinfo=UTC).isoformat()


def _version(memory: Mapping[str, Any]) -> tuple[str, str]:
    return str(memory.get("fetched_at") or ""), str(memory.get("run_began") or "")


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= 1_000_000 else 0


def _fingerprint(document: IndexDocument, embedder: str) -> str:
    """Equal for equal ids, texts, payloads and embedder."""
    content = [[point.id, point.text, dict(point.payload)] for point in document.points]
    told = json.dumps([embedder, content], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]
