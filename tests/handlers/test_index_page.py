"""The handler: it requests a page's points, and reports the result."""

from datetime import UTC, datetime

import pytest

from handlers.index_page import IndexPageRules, index_page, read_index
from schemas.documents import DocumentIndexed, IndexChange
from schemas.needs import Ask, IndexDocument
from schemas.outcome import Dead, DeadReason, Emit, Retry, RetryReason
from schemas.replies import IndexReply, IndexUnavailable
from schemas.states import REMOVING, State
from tests.handlers.indexing.pages import scored_page
from tests.rules import shipped_rules
from tests.samples import emitted, instance

RULES = shipped_rules(IndexPageRules)
WHEN = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("reply", "change"),
    [
        (IndexReply(2, 2, 0, False, "e"), IndexChange.WRITTEN),
        (IndexReply(2, 0, 0, False, "e"), IndexChange.UNCHANGED),
        (IndexReply(2, 0, 3, False, "e"), IndexChange.WRITTEN),
        (IndexReply(2, 0, 0, True, "e"), IndexChange.OUTDATED),
    ],
)
def test_event_reports_what_changed(reply: IndexReply, change: IndexChange) -> None:
    event = emitted(DocumentIndexed, read_index(scored_page("B", fetched_at=WHEN), (reply,), RULES))
    assert event.change == change
    assert (event.points, event.points_written, event.points_removed) == (2, reply.written, reply.removed)
    assert (event.tier, event.cts_score, event.embedder) == ("B", 50, "e")
    assert event.config_version == RULES.config_version


def test_an_index_that_is_down_means_later() -> None:
    outcome = read_index(scored_page("A"), (IndexUnavailable("no answer", 7.0),), RULES)
    assert outcome == Retry(RetryReason.UNAVAILABLE, "no answer", 7.0)


def test_an_address_that_opens_no_page_is_not_indexed() -> None:
    dead = index_page(scored_page("A", url="javascript://news.example/%0a"), RULES)
    assert instance(Dead, dead).reason is DeadReason.BAD_ADDRESS


def test_the_tier_configuration_decides_the_depth() -> None:
    tiers = RULES.tiered_indexing
    shallow = tiers.model_copy(update={"tier_a": tiers.tier_a.model_copy(update={"chunking": "none"})})
    answer = instance(Ask, index_page(scored_page("A"), RULES.model_copy(update={"tiered_indexing": shallow})))
    assert isinstance(answer.need, IndexDocument)
    assert [point.kind for point in answer.need.points] == ["article"]


def test_changed_thresholds_apply_to_pages_scored_before() -> None:
    tiers = RULES.tiered_indexing
    lower = tiers.model_copy(update={"tier_a": tiers.tier_a.model_copy(update={"min_cts": 45})})
    rules = RULES.model_copy(update={"tiered_indexing": lower})
    need = instance(IndexDocument, instance(Ask, index_page(scored_page("B"), rules)).need)
    assert need.points[0].kind == "article"
    assert {point.payload["tier"] for point in need.points} == {"A"}
    outcome = emitted(DocumentIndexed, read_index(scored_page("B"), (IndexReply(9, 9, 0, False, "e"),), rules))
    assert outcome.tier == "A"


def test_a_page_without_a_score_keeps_the_tier_it_was_given() -> None:
    need = instance(IndexDocument, instance(Ask, index_page(scored_page("A", cts_score=None), RULES)).need)
    assert need.points[0].payload["tier"] == "A"


@pytest.mark.parametrize("state", State)
def test_the_state_decides_about_the_points(state: State) -> None:
    page = scored_page("C", fetched_at=WHEN).model_copy(update={"state": state, "cts_score": 0})
    step = index_page(page, RULES)
    if state in REMOVING:
        [marker] = instance(IndexDocument, instance(Ask, step).need).points
        assert marker.payload.keys() == {"document_id", "kind"}, "it has no address by which a query finds it"
        event = emitted(DocumentIndexed, read_index(page, (IndexReply(1, 1, 5, False, "e"),), RULES))
        assert (event.change, event.points, event.points_written, event.points_removed) == ("removed", 0, 0, 5)
        outdated = emitted(DocumentIndexed, read_index(page, (IndexReply(1, 0, 0, True, "e"),), RULES))
        assert outdated.change is IndexChange.OUTDATED
    elif state is not State.CONTENT:
        event = emitted(DocumentIndexed, instance(Emit, step))
        assert (event.change, event.state, event.points) == (IndexChange.KEPT, state, 0)
    else:
        assert len(instance(IndexDocument, instance(Ask, step).need).points) > 0
