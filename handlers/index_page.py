"""Indexes a page as deep as its trust score allows: its tier decides which points the index has of it.

In: ``ScoredPage``. It asks for the index to have exactly the page's points. Out: ``DocumentIndexed``. The same page
twice, or an older version of it, changes nothing.
"""

from __future__ import annotations

from dataclasses import replace

from handlers.html.links import NO_WEB_PAGE
from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.indexing.points import document_id_of, index_change, points_of, removed_points
from handlers.trust.labels import tier_of
from schemas.addresses import web_address
from schemas.documents import DocumentIndexed, IndexChange
from schemas.needs import Ask, IndexDocument
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import ScoredPage
from schemas.replies import IndexReply, IndexUnavailable
from schemas.rules import Rules
from schemas.states import REMOVING, State


class IndexPageRules(Rules):
    """Everything that ``index_page`` decides by."""

    tiered_indexing: TieredIndexingSection
    index_points: IndexPointsSection


def index_page(page: ScoredPage, rules: IndexPageRules) -> Outcome | Ask:
    """Asks for the page's points, as many as its tier has (R-210 to R-213, R-219, R-223).

    The score decides the tier by the thresholds in force, so changed thresholds take effect in a replay (R-217); a page
    without a score keeps its tier. A page that no longer exists is removed. A page without content, such as a wall,
    leaves the points of an earlier version. An address that opens no web page is not indexed (``BAD_ADDRESS``).
    """
    if not web_address(page.url):
        return Dead(DeadReason.BAD_ADDRESS, NO_WEB_PAGE)
    if page.state in REMOVING:
        return Ask(IndexDocument(document_id_of(page.url), removed_points(page.url), page.fetched_at))
    if page.state is not State.CONTENT:
        return Emit((_indexed(page, rules, IndexReply(0, 0, 0, outdated=False, embedder=""), IndexChange.KEPT),))
    page = _in_tier(page, rules)
    points = points_of(page, rules.tiered_indexing, rules.index_points)
    return Ask(IndexDocument(document_id_of(page.url), points, page.fetched_at))


def read_index(page: ScoredPage, replies: tuple[IndexReply | IndexUnavailable, ...], rules: IndexPageRules) -> Outcome:
    """Continues with the reply of the index; where it was not available, the page is retried."""
    reply = replies[-1]
    if isinstance(reply, IndexUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    if page.state in REMOVING:
        change = index_change(reply)
        change = IndexChange.REMOVED if change is IndexChange.WRITTEN else change
        return Emit((_indexed(page, rules, replace(reply, points=0, written=0), change),))
    return Emit((_indexed(page, rules, reply, index_change(reply)),))


def _indexed(page: ScoredPage, rules: IndexPageRules, reply: IndexReply, change: IndexChange) -> DocumentIndexed:
    return DocumentIndexed(
        url=page.url,
        page_id=page.page_id,
        document_id=document_id_of(page.url),
        tier=_in_tier(page, rules).tier,
        cts_score=page.cts_score,
        state=page.state,
        change=change,
        points=reply.points,
        points_written=reply.written,
        points_removed=reply.removed,
        embedder=reply.embedder,
        config_version=rules.config_version,
        fetched_at=page.fetched_at,
    )


def _in_tier(page: ScoredPage, rules: IndexPageRules) -> ScoredPage:
    if page.cts_score is None:
        return page
    thresholds = rules.tiered_indexing.thresholds
    tier = tier_of(page.cts_score, page.trust_features.source_tier, thresholds, page.source)
    return page if tier == page.tier else page.model_copy(update={"tier": tier})
