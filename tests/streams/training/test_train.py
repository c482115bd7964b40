"""A known signal is found, one that is not there is not, and data that makes no model is refused with a reason."""

from dataclasses import replace
from typing import Any

import pytest

from handlers.ranking.model import FEATURES_OF, VERSION_PHASE_A, VERSION_PHASE_C, Phase
from streams.settings.model import load_settings
from streams.training.grade import compare, measure, split_groups
from streams.training.join import Joined
from streams.training.train import NotTrained, Refusal, Trained, train, write_card
from tests.samples import instance
from tests.streams.training.feedback import joined, world

pytestmark = pytest.mark.slow

SHIPPED = load_settings().training
SECTION = SHIPPED.model_copy(update={"least_judged": 5})
"""Fewer queries than people should rely on, for here the truth is known."""


def trained(data: Joined, **how: Any) -> Trained:
    return instance(Trained, train(data, SECTION, 1, 0.8, **how))


def refused(data: Joined, **how: Any) -> Refusal:
    return instance(Refusal, train(data, SHIPPED, 1, 0.8, **how))


@pytest.mark.parametrize(
    ("requests", "phase", "features", "version"),
    [
        (50, Phase.BINARY, 29, VERSION_PHASE_A),
        (200, Phase.PAIRWISE, 29, VERSION_PHASE_A),
        (500, Phase.LISTWISE, 41, VERSION_PHASE_C),
    ],
)
def test_each_phase_beats_the_served_order(requests: int, phase: Phase, features: int, version: str) -> None:
    made = trained(joined(world(requests)))
    report, manifest = made.report, made.model.manifest
    assert (report.phase, report.features, report.labelled) == (phase, features, requests * 10)
    assert (manifest.phase, manifest.features_version, manifest.features) == (phase, version, FEATURES_OF[version])
    [served] = report.rivals
    assert report.measures.ndcg_at_10 > served.measures.ndcg_at_10 + 0.05
    assert served.difference.low > 0
    assert served.difference.verdict == "better"
    assert report.importance[0][0] == "keyword_overlap"
    assert sum(share for _, share in report.importance) == pytest.approx(1)


def test_just_enough_and_one_too_few() -> None:
    whole = joined(world(50))
    first = whole.requests[0]
    one_less = replace(first, signals=(*first.signals[:-1], None))
    refusal = refused(replace(whole, requests=(one_less, *whole.requests[1:])))
    assert (refusal.reason, refusal.labelled, refusal.missing) == (NotTrained.TOO_FEW_LABELS, 499, 1)
    assert "1 are missing" in refusal.because
    assert trained(whole).report.phase is Phase.BINARY


def test_training_is_deterministic_per_data_and_seed() -> None:
    some = list(world(60))
    one, again = trained(joined(iter(some))), trained(joined(iter(some[::-1])))
    assert one.model == again.model
    assert write_card(one, SECTION) == write_card(again, SECTION)
    other = instance(Trained, train(joined(iter(some)), SECTION, 2, 0.8))
    assert other.model.model != one.model.model


def test_trees_never_see_a_query_that_they_are_judged_by() -> None:
    """With inverted grades of the held-out side the model is bit for bit the same, and its figures are not."""
    data = joined(world(60))
    held = {group.query for group in split_groups(data.requests, SECTION.grades, SECTION.held_out).held_out}
    turned = replace(
        data,
        requests=tuple(
            replace(request, signals=tuple(replace(s, grade=4 - (s.grade or 0)) for s in request.signals if s))
            if request.query in held
            else request
            for request in data.requests
        ),
    )
    one, other = trained(data), trained(turned)
    assert one.model.model == other.model.model
    assert one.report.measures.ndcg_at_10 > other.report.measures.ndcg_at_10


def test_results_that_are_all_alike_teach_nothing() -> None:
    alike = [(answer, [f.model_copy(update={"grade": 2}) for f in given]) for answer, given in world(60)]
    assert refused(joined(iter(alike))).reason is NotTrained.NOTHING_TO_LEARN
    many = [(answer, [f.model_copy(update={"grade": 2}) for f in given]) for answer, given in world(200)]
    assert refused(joined(iter(many))).reason is NotTrained.NOTHING_TO_LEARN


def asked_again(times: int, held: set[str]) -> Joined:
    """80 queries, all held-out ones of which are ``query number 5``, asked this often."""
    pairs = [pair for pair in world(80) if f"query number {pair[0].request_id[1:]}" not in held]
    for answer, given in list(world(times, seed=7)):
        name = {"request_id": f"again {answer.request_id}"}
        again = answer.model_copy(update={**name, "query": "query number 5"})
        pairs.append((again, [one.model_copy(update=name) for one in given]))
    return joined(iter(pairs))


@pytest.mark.parametrize("times", [1, 40])
def test_single_held_out_query_never_proves_a_better_model(times: int) -> None:
    split = split_groups(joined(world(80)).requests, SHIPPED.grades, SHIPPED.held_out)
    made = instance(Trained, train(asked_again(times, {group.query for group in split.held_out}), SHIPPED, 1, 0.8))
    assert made.report.judged == (times, 1)
    [served] = made.report.rivals
    assert (served.difference.queries, served.difference.least) == (1, 30)
    assert served.difference.verdict == "can't be told apart: only 1 query"
    assert served.difference.low == served.difference.high, "resamples of one query are all alike"
    told = f"On {times} request{'s'[: times != 1]} of 1 query held out"
    assert told in write_card(made, SHIPPED)


def test_few_clicks_do_not_train_a_model() -> None:
    pairs = [
        (
            answer,
            [
                f.model_copy(update={"grade": None, "clicked": number == 0 and place < 49})
                for number, f in enumerate(given)
            ],
        )
        for place, (answer, given) in enumerate(world(500))
    ]
    refusal = refused(joined(iter(pairs)))
    assert (refusal.reason, refusal.labelled, refusal.missing) == (NotTrained.TOO_FEW_GOOD, 5000, 1)
    assert "only 49 of them are good (grade 1 or more), and it takes 50: 1 are missing" in refusal.because
    answer, given = pairs[49]
    pairs[49] = (answer, [given[0].model_copy(update={"clicked": True}), *given[1:]])
    assert isinstance(train(joined(iter(pairs)), SHIPPED, 1, 0.8), Trained)


def test_an_interval_is_of_the_same_queries_and_of_the_seed() -> None:
    four = list("abcd")
    better = compare([0.9, 0.8, 0.7, 0.9], [0.5, 0.6, 0.4, 0.6], four, seed=1)
    assert better.ndcg_at_10 == pytest.approx(0.3)
    assert 0.2 <= better.low <= 0.3 <= better.high <= 0.4
    assert compare([0.9, 0.8], [0.5, 0.6], four[:2], 1) == compare([0.9, 0.8], [0.5, 0.6], four[:2], 1)
    assert compare([0.5] * 4, [0.9, 0.8, 0.7, 0.9], four, 1).verdict == "worse"
    assert compare([0.5, 0.7], [0.7, 0.5], four[:2], 1).verdict == "can't be told apart"
    assert measure([[4, 0], [0, 4]], ["a", "b"], 1).mrr == 0.75
