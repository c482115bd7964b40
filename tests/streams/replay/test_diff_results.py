import json

from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.outcome import Dead, DeadReason, Emit, Outcome
from schemas.retrieval import ClassifiedResult, ResultCounts, ResultsClassified, ResultType
from streams.replay.diff_results import ResultsDifferences

ITEM, LISTING, ELSEWHERE = ResultType.SPECIFIC_CONTENT, ResultType.AGGREGATOR, ResultType.NAVIGATION
DEAD = Dead(DeadReason.HANDLER_BUG, "ValueError: no")


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


def compared(*pairs: tuple[Outcome, Outcome], limit: int = 50) -> ResultsDifferences:
    found = ResultsDifferences(limit)
    for now, then in pairs:
        found.add(now, then)
    return found


def test_results_that_flip_say_from_what_to_what_and_why() -> None:
    now = classified((ITEM, 0.9), (ITEM, 0.7), (LISTING, 0.2), (LISTING, 0.5))
    then = classified((LISTING, 0.3), (ITEM, 0.8), (LISTING, 0.2), (LISTING, 0.4), version="w")
    found = compared((now, then))
    assert (found.inputs, found.moved.count, found.rescored, found.unchanged) == (1, 1, 2, 0)
    [flip] = found.moved.items
    assert (flip.url, flip.type_now, flip.type_then) == ("https://a.example/0", "SPECIFIC_CONTENT", "AGGREGATOR")
    assert (flip.score_now, flip.score_then) == (0.9, 0.3)
    assert (flip.because_now, flip.because_then) == (("looks like SPECIFIC_CONTENT",), ("looks like AGGREGATOR",))
    assert (found.types["SPECIFIC_CONTENT", "AGGREGATOR"], found.types["AGGREGATOR", "AGGREGATOR"]) == (1, 2)


def test_extractions_more_and_fewer() -> None:
    now = classified((LISTING, 0.2), fetch=("https://a.example/x", "https://a.example/y"))
    then = classified((LISTING, 0.2), fetch=("https://a.example/y", "https://a.example/z"))
    found = compared((now, then), (now, now), (classified(), now))
    assert (found.extractions_now, found.extractions_then, found.extractions.count) == (4, 6, 2)
    first, second = found.extractions.items
    assert (first.more, first.fewer) == (("https://a.example/z",), ("https://a.example/x",))
    assert (second.query, len(second.more), second.fewer) == ("walks", 2, ())


def test_batch_that_differs_only_in_version_is_unchanged() -> None:
    now, then = classified((ITEM, 0.9)), classified((ITEM, 0.9), version="w")
    assert compared((now, then), (DEAD, DEAD)).unchanged == 2


def test_batches_that_die_or_rise_move_with_their_results() -> None:
    batch = classified((ITEM, 0.9), (ELSEWHERE, 0.4), fetch=("https://a.example/x",))
    found = compared((batch, DEAD), (DEAD, batch), (DEAD, DEAD))
    assert found.types["SPECIFIC_CONTENT", "dead"] == found.types["dead", "NAVIGATION"] == 1
    assert found.types["dead", "dead"] == 1
    assert (found.moved.count, found.unchanged) == (4, 1)
    assert [flip.score_then for flip in found.moved.items[:2]] == [None, None]
    assert [change.fewer or change.more for change in found.extractions.items] == [("https://a.example/x",)] * 2
    assert found.dead.now == found.dead.then == {"handler_bug": 2}


def test_the_first_are_kept_and_the_wire_form_is_json() -> None:
    now, then = classified((ITEM, 0.9), fetch=("https://a.example/x",)), classified((LISTING, 0.2))
    wire = json.loads(json.dumps(compared(*[(now, then)] * 5, limit=2).to_wire()))
    assert (wire["batches"], wire["moved_count"], len(wire["moved"]), wire["more"]) == (5, 5, 2, 3)
    assert wire["matrix"]["SPECIFIC_CONTENT"]["AGGREGATOR"] == 5
    fetched = wire["extractions"]
    assert (fetched["now"], fetched["then"], fetched["changed_count"], fetched["more"]) == (5, 0, 5, 3)
