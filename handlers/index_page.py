"""How deep is a page indexed? As deep as its trust score says: its tier decides which points the index has of it.

In: ``ScoredPage``. It asks for the page's points to be in the index and no others; out: ``DocumentIndexed``, which says
what that took. The same page twice changes nothing; a version that is older than the one in the index changes nothing
either.
"""

from __future__ import annotations

from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.indexing.points import document_id_of, points_of
from handlers.trust.labels import tier_of
from schemas.documents import DocumentIndexed, IndexChange
from schemas.needs import Ask, IndexDocument
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.pages import ScoredPage
from schemas.replies import IndexReply, IndexUnavailable
from schemas.rules import Rules


class IndexPageRules(Rules):
    """Everything that ``index_page`` decides by."""

    tiered_indexing: TieredIndexingSection
    index_points: IndexPointsSection


def index_page(page: ScoredPage, rules: IndexPageRules) -> Outcome | Ask:
    """Asks for the page's points, as many as its tier has (R-210 to R-213, R-219, R-223).

    A page with a score is in the tier that the thresholds in force give it, so that changed thresholds take effect when
    scored pages are read again (R-217); one without keeps the tier it was given.
    """
    page = _in_tier(page, rules)
    points = points_of(page, rules.tiered_indexing, rules.index_points)
    return Ask(IndexDocument(document_id_of(page.url), points, page.fetched_at))


def read_index(page: ScoredPage, replies: tuple[IndexReply | IndexUnavailable, ...], rules: IndexPageRules) -> Outcome:
    """Goes on with what the index did; where it could not, the page is tried again and nothing is lost."""
    reply = replies[-1]
    if isinstance(reply, IndexUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    if reply.outdated:
        change = IndexChange.OUTDATED
    else:
        change = IndexChange.WRITTEN if reply.written or reply.removed else IndexChange.UNCHANGED
    return Emit(
        (
            DocumentIndexed(
                url=page.url,
                document_id=document_id_of(page.url),
                tier=_in_tier(page, rules).tier,
                cts_score=page.cts_score,
                change=change,
                points=reply.points,
                points_written=reply.written,
                points_removed=reply.removed,
                embedder=reply.embedder,
                config_version=rules.config_version,
                fetched_at=page.fetched_at,
            ),
        )
    )


def _in_tier(page: ScoredPage, rules: IndexPageRules) -> ScoredPage:
    if page.cts_score is None:
        return page
    tier = tier_of(page.cts_score, page.trust_features.source_tier, rules.tiered_indexing.thresholds)
    return page if tier == page.tier else page.model_copy(update={"tier": tier})
