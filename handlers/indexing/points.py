"""The index points of a scored page: their texts, payloads and stable ids.

The chunking of the page's tier decides: ``full`` gives an embedding of the article and its chunks, ``rough`` the
beginning and the summary, ``none`` the article alone (R-210 to R-213).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.html.links import host_of, registrable_domain
from handlers.indexing.chunks import chunk_text
from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.text.dates import iso_text
from schemas.event import derive_id
from schemas.needs import IndexPoint
from schemas.pages import ScoredPage, Tier

ARTICLE, CHUNK, BEGINNING, SUMMARY = "article", "chunk", "beginning", "summary"
_LINE_CHARACTERS = 500
_NAME_CHARACTERS = 200
_MAX_AUTHORS = 20
"""Bounds of titles and names: each of a page's hundreds of points carries them."""
SINGLE_KINDS = (ARTICLE, BEGINNING, SUMMARY)
"""A document has at most one point of each of these kinds."""


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

    ``rough`` gives one point where the summary is empty or has the same words. A page without any text has one point,
    of its title or its address.
    """
    document_id = document_id_of(page.url)
    payload = _payload(page, document_id)
    chunking = chunking_of(page.tier, tiers)
    summary, content = page.summary.strip(), page.content.strip()
    texts: list[tuple[str, str]]
    if chunking == "rough":
        beginning = content[: tiers.tier_b.max_chars].strip()
        texts = [(BEGINNING, beginning or summary)]
        if summary and beginning and summary.split() != beginning.split():
            texts.append((SUMMARY, summary))
    else:
        article = "" if _begins_with(content, summary) else summary
        leading = content[: rules.article_characters].strip()
        texts = [(ARTICLE, "\n".join(part for part in (article, leading) if part))]
        if chunking == "full":
            size, unit = tiers.tier_a.max_chunk_size, rules.chunk_unit
            texts += [(CHUNK, chunk) for chunk in chunk_text(content, size, unit)]
    first_chunk = len(texts) - sum(kind == CHUNK for kind, _ in texts)
    return tuple(
        _point(document_id, kind, place - first_chunk if kind == CHUNK else 0, text, page, payload)
        for place, (kind, text) in enumerate(texts)
    )


def _begins_with(content: str, summary: str) -> bool:
    """Whether a text begins with the words of its summary, whatever white space is between them."""
    words = summary.split()
    return content[: 2 * len(summary) + _LINE_CHARACTERS].split()[: len(words)] == words


def _point(
    document_id: str, kind: str, ordinal: int, text: str, page: ScoredPage, payload: Mapping[str, Any]
) -> IndexPoint:
    # The title says what a part of a text is about.
    embedded = "\n".join(part for part in (payload["title"], text) if part) or page.url
    kept = {**payload, "kind": kind, "ordinal": ordinal, "text": text}
    return IndexPoint(point_id(document_id, kind, ordinal), kind, embedded, kept)


def _payload(page: ScoredPage, document_id: str) -> dict[str, Any]:
    """The payload of every point of a page: enough to filter, show and rank a result without another look-up."""
    return {
        "document_id": document_id,
        "url": page.url,
        "domain": registrable_domain(host_of(page.url)),
        "title": page.title[:_LINE_CHARACTERS].strip(),
        "date": iso_text(page.date) if page.date else None,
        "author": [author[:_NAME_CHARACTERS] for author in page.author[:_MAX_AUTHORS]],
        "site_name": page.site_name and page.site_name[:_NAME_CHARACTERS],
        "language": page.language,
        "tier": page.tier,
        "cts_score": page.cts_score,
        "trust_label": page.trust_label,
        "trust_features": page.trust_features.model_dump(mode="json"),
    }
