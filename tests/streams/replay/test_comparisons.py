import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import ScoreComponent, Tier, TrustFeatures, TrustLabel
from schemas.retrieval import ClassifiedResult, ResultCounts, ResultsClassified, ResultType
from streams.replay.comparisons import (
    PageDifferences,
    ResultsDifferences,
    page_move,
)
from tests.samples import scored as scored_page
from tests.tables import tables

TABLES = tables(__file__)

DEAD = Dead(DeadReason.UNREADABLE_PAGE, "no HTML")


def scored(
    score: int | None, tier: Tier = "B", label: TrustLabel = "MEDIUM", lines: tuple[Any, ...] = (), **fields: Any
) -> Emit:
    event = scored_page(
        label_source="fallback" if score is None else "score",
        trust_features=TrustFeatures(source_tier=3, base_score=10, cts_score=score),
        cts_score=score,
        cts_breakdown=tuple(ScoreComponent(component=n, points=p, reason=b) for n, p, b in lines),
        tier=tier,
        trust_label=label,
        config_version=str(score),
        **fields,
    )
    return Emit((event,))


def compared(*pairs: tuple[Outcome, Outcome], limit: int = 50) -> PageDifferences:
    found = PageDifferences(limit)
    for now, then in pairs:
        found.add(now, then)
    return found


def test_a_page_that_moves_says_from_where_to_where_and_why() -> None:
    now = scored(42, "B", "MEDIUM", (("base", 25, "is listed"), ("headings", 8, "4 headings"), ("old", 9, "was")))
    then = scored(14, "C", "LOW", (("base", 10, "is not listed"), ("headings", 4, "4 headings"), ("new", 0, "is")))
    move = page_move(now, then)
    assert move is not None
    assert (move.url, move.score_now, move.score_then) == ("https://a.example/1", 42, 14)
    assert (move.tier_now, move.tier_then, move.label_now, move.label_then) == ("B", "C", "MEDIUM", "LOW")
    changes = [(c.component, c.points_now, c.points_then, c.because_now, c.because_then) for c in move.components]
    assert changes == list(TABLES["a_page_that_moves_says_from_where_to_where_and_why"])
    assert not move.other_thresholds


def test_other_thresholds_explain_moves_without_point_changes() -> None:
    cases: list[tuple[Outcome, Outcome, bool]] = [
        (scored(65, "B"), scored(65, "A"), True),
        (scored(69, "B"), scored(65, "A"), True),
        (scored(69, "A"), scored(75, "B"), True),
        (scored(65, "B"), scored(75, "A"), False),
        (scored(50, "B", "MEDIUM"), scored(50, "B", "LOW"), True),
        (scored(45, "B", "MEDIUM"), scored(35, "B", "LOW"), False),
        (scored(45, "B"), DEAD, False),
        (scored(None, "B"), scored(45, "A"), False),
    ]
    for now, then, expected in cases:
        move = page_move(now, then)
        assert move is not None
        assert move.other_thresholds is expected


def test_each_page_is_counted_in_one_way() -> None:
    found = compared(
        (scored(50), scored(50, "A")),
        (scored(50), scored(50, "B", "LOW")),
        (scored(50), DEAD),
        (DEAD, scored(50)),
        (scored(50), scored(55)),
        (scored(50), scored(45)),
        (scored(50, title="One"), scored(50, title="Another")),
        (scored(50), scored(50)),
        (DEAD, DEAD),
        (Drop(DropReason.NOTHING_TO_DO), Drop(DropReason.NOTHING_TO_DO)),
        (Emit(()), Dead(DeadReason.TOO_LARGE)),
    )
    assert found.inputs == 11
    assert (found.moved.count, found.rescored, found.reread, found.unchanged) == (4, 2, 1, 4)
    assert found.decisions["drop", "drop"] == found.decisions["drop", "dead"] == 1
    assert found.decisions["B", "A"] == found.decisions["B", "dead"] == found.decisions["dead", "B"] == 1
    assert found.decisions["B", "B"] == 5
    assert found.labels == {("MEDIUM", "LOW"): 1}
    assert found.dead == {"now": {"unreadable_page": 2}, "then": {"unreadable_page": 2, "too_large": 1}}


def test_dying_page_has_a_reason_and_a_reviving_one_no_score() -> None:
    dies, rises = page_move(scored(50), DEAD), page_move(DEAD, scored(50))
    assert dies is not None
    assert rises is not None
    assert (dies.tier_then, dies.score_then, dies.label_then, dies.detail_then) == TABLES[
        "dying_page_has_a_reason_and_a_reviving_one_no_score"
    ]
    assert (rises.tier_now, rises.score_now, rises.detail_now) == ("dead", None, "unreadable_page: no HTML")


def test_the_wire_form_has_every_row_and_is_json() -> None:
    pairs = (scored(50), scored(72, "A", "HIGH")), (scored(50, "A"), Retry(RetryReason.UNAVAILABLE))
    wire = json.loads(json.dumps(compared(*pairs).to_wire()))
    assert wire["matrix"]["B"] == {"A": 1, "B": 0, "C": 0, "dead": 0, "retry": 0}
    assert wire["matrix"]["A"]["retry"] == 1
    assert list(wire["matrix"]) == ["A", "B", "C", "dead", "retry"]
    assert wire["labels"] == [{"label_now": "MEDIUM", "label_then": "HIGH", "pages": 1}]
    assert wire["dead"] == {"now": {}, "then": {}}


outcomes = st.one_of(
    st.builds(
        scored,
        st.integers(0, 100),
        st.sampled_from(["A", "B", "C"]),
        st.sampled_from(["HIGH", "MEDIUM", "LOW"]),
        title=st.sampled_from(["", "One"]),
    ),
    st.sampled_from([DEAD, Dead(DeadReason.TOO_LARGE), Drop(DropReason.NOTHING_TO_DO), Emit(())]),
)


@given(st.lists(st.tuples(outcomes, outcomes), max_size=30), st.integers(0, 5))
def test_counts_add_up_for_any_pages(pairs: list[tuple[Outcome, Outcome]], limit: int) -> None:
    found = compared(*pairs, limit=limit)
    assert found.inputs == len(pairs) == found.decisions.total()
    assert found.inputs == found.moved.count + found.rescored + found.reread + found.unchanged
    wire = found.to_wire()
    assert len(wire["moved"]) == len(found.moved.items) == min(limit, found.moved.count)
    assert wire["moved_count"] == found.moved.count == len(wire["moved"]) + wire["more"]
    assert sum(sum(row.values()) for row in wire["matrix"].values()) == len(pairs)
    back = compared(*[(then, now) for now, then in pairs])
    assert back.decisions == {(then, now): count for (now, then), count in found.decisions.items()}
    assert compared(*[(now, now) for now, _ in pairs]).unchanged == len(pairs)


# --- classified results ----------------------------------------------------------------------------------------------

ITEM, LISTING, ELSEWHERE = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
BUG = Dead(DeadReason.HANDLER_BUG, "ValueError: no")


def classified(*results: tuple[ResultType, float], fetch: tuple[str, ...] = (), version: str = "v") -> Emit:
    batch = ResultsClassified(
        batch_id="b",
        query="walks",
        attempt=1,
        duplicates=0,
        confidence=0.5,
        extraction_targets=(),
        retrieved_content=(),
        results=tuple(
            ClassifiedResult(
                url=f"https://a.example/{number}",
                page_id=None,
                content_kind="snippet",
                evidence=(),
                result_type=kind,
                actionable_score=score,
                confidence=0.5,
                reasons=(f"looks like {kind.value}",),
            )
            for number, (kind, score) in enumerate(results)
        ),
        counts=ResultCounts(),
        actionable_information=0.5,
        needs_extraction=bool(fetch),
        config_version=version,
    )
    wanted = tuple(
        ExtractionNeeded(
            extraction_id=url,
            query="walks",
            reason=ExtractionTrigger.AGGREGATOR_DETECTED,
            extraction_reason="listings",
            target_url=url,
            follow=True,
        )
        for url in fetch
    )
    return Emit((batch, *wanted))


def batches_compared(*pairs: tuple[Outcome, Outcome], limit: int = 50) -> ResultsDifferences:
    found = ResultsDifferences(limit)
    for now, then in pairs:
        found.add(now, then)
    return found


def test_batches_that_die_or_rise_move_with_their_results() -> None:
    batch = classified((ITEM, 0.9), (ELSEWHERE, 0.4), fetch=("https://a.example/x",))
    versions = [classified((LISTING, 0.9), version=version) for version in "vw"]
    found = batches_compared((batch, BUG), (BUG, batch), (BUG, BUG), (versions[0], versions[1]))
    assert found.decisions["SPECIFIC_CONTENT", "dead"] == found.decisions["dead", "NAVIGATION"] == 1
    assert found.decisions["dead", "dead"] == 1
    assert (found.moved.count, found.unchanged) == (4, 2)
    assert [flip.score_then for flip in found.moved.items[:2]] == [None, None]
    assert [change.fewer or change.more for change in found.extractions.items] == [("https://a.example/x",)] * 2
    assert found.dead == {"now": {"handler_bug": 2}, "then": {"handler_bug": 2}}


def test_the_first_results_are_kept_and_the_wire_form_is_json() -> None:
    now, then = classified((ITEM, 0.9), fetch=("https://a.example/x",)), classified((LISTING, 0.2))
    wire = json.loads(json.dumps(batches_compared(*[(now, then)] * 5, limit=2).to_wire()))
    assert (wire["batches"], wire["moved_count"], len(wire["moved"]), wire["more"]) == (5, 5, 2, 3)
    assert wire["matrix"]["SPECIFIC_CONTENT"]["AGGREGATOR"] == 5
    fetched = wire["extractions"]
    assert (fetched["now"], fetched["then"], fetched["changed_count"], fetched["more"]) == (5, 0, 5, 3)


def test_results_that_flip_say_from_what_to_what_and_why() -> None:
    now = classified((ITEM, 0.9), (ITEM, 0.7), (LISTING, 0.2), (LISTING, 0.5))
    then = classified((LISTING, 0.3), (ITEM, 0.8), (LISTING, 0.2), (LISTING, 0.4), version="w")
    found = batches_compared((now, then))
    assert (found.inputs, found.moved.count, found.rescored, found.unchanged) == (1, 1, 2, 0)
    [flip] = found.moved.items
    assert (flip.url, flip.type_now, flip.type_then) == ("https://a.example/0", "SPECIFIC_CONTENT", "AGGREGATOR")
    assert (flip.score_now, flip.score_then) == (0.9, 0.3)
    assert (flip.because_now, flip.because_then) == (("looks like SPECIFIC_CONTENT",), ("looks like AGGREGATOR",))
    assert (found.decisions["SPECIFIC_CONTENT", "AGGREGATOR"], found.decisions["AGGREGATOR", "AGGREGATOR"]) == (1, 2)
