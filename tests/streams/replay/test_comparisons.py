import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.event import Event
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry, RetryReason
from schemas.pages import ScoreComponent, ScoredPage, Tier, TrustFeatures, TrustLabel
from schemas.retrieval import ResultsClassified, ResultType
from streams.replay.comparisons import KINDS, Comparison
from tests.samples import EXAMPLES
from tests.samples import scored as scored_page

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


def compared(*pairs: tuple[Outcome, Outcome], limit: int = 50, kind: type[Event] = ScoredPage) -> Comparison:
    found = Comparison(KINDS[kind], limit)
    for now, then in pairs:
        found.add(now, then)
    return found


def test_a_page_that_moves_says_from_where_to_where_and_why() -> None:
    now = scored(42, "B", "MEDIUM", (("base", 25, "is listed"), ("headings", 8, "4 headings"), ("old", 9, "was")))
    then = scored(14, "C", "LOW", (("base", 10, "is not listed"), ("headings", 4, "4 headings"), ("new", 0, "is")))
    found = compared((now, then))
    assert found.labels == {("MEDIUM", "LOW"): 1}
    [move] = found.changes
    assert (move.url, move.now.score, move.then.score) == ("https://a.example/1", 42, 14)
    assert (move.now.decision, move.then.decision, move.now.label, move.then.label) == ("B", "C", "MEDIUM", "LOW")
    changes = [(c.component, c.points_now, c.points_then, c.because_now, c.because_then) for c in move.components]
    assert changes == [
        ("base", 25, 10, "is listed", "is not listed"),
        ("headings", 8, 4, "4 headings", "4 headings"),
        ("old", 9, 0, "was", ""),
    ]
    assert not move.by_threshold


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
    assert (found.changed, found.rescored, found.reread, found.unchanged) == (5, 2, 1, 3)
    assert found.decisions["drop", "drop"] == found.decisions["drop", "dead"] == 1
    assert found.decisions["B", "A"] == found.decisions["B", "dead"] == found.decisions["dead", "B"] == 1
    assert [found.changes[at].by_threshold for at in (0, 1, 2)] == [True, True, False]
    assert (found.changes[2].then.because, found.changes[3].now.score) == ("unreadable_page: no HTML", None)
    assert found.dead == {"now": {"unreadable_page": 2}, "then": {"unreadable_page": 2, "too_large": 1}}


def test_the_wire_form_has_every_row_and_is_json() -> None:
    pairs = (scored(50), scored(72, "A", "HIGH")), (scored(50, "A"), Retry(RetryReason.UNAVAILABLE))
    wire = json.loads(json.dumps(compared(*pairs).to_wire()))
    assert wire["matrix"]["B"] == {"A": 1, "B": 0, "C": 0, "dead": 0, "retry": 0}
    assert wire["matrix"]["A"]["retry"] == 1
    assert list(wire["matrix"]) == ["A", "B", "C", "dead", "retry"]
    assert wire["labels"] == [{"now": "MEDIUM", "then": "HIGH", "count": 1}]
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
    assert found.inputs == found.changed + found.rescored + found.reread + found.unchanged
    wire = found.to_wire()
    assert len(wire["moved"]) == len(found.changes) == min(limit, found.changed)
    assert wire["moved_count"] == found.changed == len(wire["moved"]) + wire["more"]
    assert sum(sum(row.values()) for row in wire["matrix"].values()) == len(pairs)
    back = compared(*[(then, now) for now, then in pairs])
    assert back.decisions == {(then, now): count for (now, then), count in found.decisions.items()}
    assert compared(*[(now, now) for now, _ in pairs]).unchanged == len(pairs)


# --- classified results ----------------------------------------------------------------------------------------------

ITEM, LISTING, ELSEWHERE = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
BATCH = ResultsClassified.model_validate_json((EXAMPLES / "results.classified.v1" / "aarhus_listing.json").read_bytes())
NEEDED = ExtractionNeeded.model_validate_json((EXAMPLES / "extraction.needed.v1" / "aarhus_listing.json").read_bytes())
BUG = Dead(DeadReason.HANDLER_BUG, "ValueError: no")


def classified(*results: tuple[ResultType, float], fetch: tuple[str, ...] = (), version: str = "v") -> Emit:
    [example, *_] = BATCH.results
    found = [
        {"url": f"https://a.example/{number}", "result_type": kind, "actionable_score": score}
        | {"reasons": (f"looks like {kind.value}",)}
        for number, (kind, score) in enumerate(results)
    ]
    own = {"batch_id": "b", "needs_extraction": bool(fetch), "config_version": version}
    batch = BATCH.model_copy(update=own | {"results": tuple(example.model_copy(update=each) for each in found)})
    return Emit((batch, *(NEEDED.model_copy(update={"extraction_id": url, "target_url": url}) for url in fetch)))


def test_batches_that_die_or_rise_move_with_their_results() -> None:
    batch = classified((ITEM, 0.9), (ELSEWHERE, 0.4), fetch=("https://a.example/x",))
    versions = [classified((LISTING, 0.9), version=version) for version in "vw"]
    found = compared((batch, BUG), (BUG, batch), (BUG, BUG), (versions[0], versions[1]), kind=ResultsClassified)
    assert found.decisions["SPECIFIC_CONTENT", "dead"] == found.decisions["dead", "NAVIGATION"] == 1
    assert found.decisions["dead", "dead"] == 1
    assert (found.changed, found.unchanged) == (4, 2)
    assert [change.then.score for change in found.changes[:2]] == [None, None]
    assert found.fetches == {"now": 1, "then": 1}
    assert found.dead == {"now": {"handler_bug": 2}, "then": {"handler_bug": 2}}


def test_results_that_flip_say_from_what_to_what_and_why() -> None:
    now = classified((ITEM, 0.9), (ITEM, 0.7), (LISTING, 0.2), (LISTING, 0.5))
    then = classified((LISTING, 0.3), (ITEM, 0.8), (LISTING, 0.2), (LISTING, 0.4), version="w")
    found = compared(*[(now, then)] * 5, limit=2, kind=ResultsClassified)
    assert (found.inputs, found.changed, found.more, found.rescored, found.unchanged) == (5, 5, 3, 10, 5)
    assert found.decisions["AGGREGATOR", "AGGREGATOR"] == 10
    change = json.loads(json.dumps(found.to_wire()))["moved"][0]
    assert (change["url"], change["batch_id"]) == ("https://a.example/0", "b")
    because = "looks like SPECIFIC_CONTENT"
    assert change["now"] == {"decision": "SPECIFIC_CONTENT", "label": "", "score": 0.9, "because": because}
    assert (change["then"]["decision"], change["then"]["score"]) == ("AGGREGATOR", 0.3)
