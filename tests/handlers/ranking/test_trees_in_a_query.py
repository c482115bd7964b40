"""Models of both sizes in whole queries: only the larger one uses trust."""

from typing import Any

import numpy as np
import pytest

from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from handlers.ranking.model import Feature, Phase, RankingModel
from schemas.needs import Ask, AskModel, SearchVectors
from schemas.queries import RankingRequested
from schemas.ranking import RankedResult, RankingCompleted
from schemas.replies import Reply, VectorHit, VectorsReply
from streams.llm.tasks import answer_offline
from tests.handlers.ranking.frozen.cases import frozen_model
from tests.handlers.ranking.models import generated_model
from tests.rules import shipped_rules
from tests.samples import emitted
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(RankResultsRules)
PAGES = TABLES["pages"]
HIGH = {"source_tier": 1, "has_doi": True, "citation_count": 12, "word_count": 3000, "schema_type": "NewsArticle"}
LOW = {"source_tier": 3, "has_byline": False, "has_author": True, "domain_is_government": False}


def under(model: RankingModel, cascade: bool) -> RankResultsRules:
    """The shipped rules with these trees in force, however sure they are."""
    trees = RULES.ranking.trees.model_copy(update={"mode": "on", "confidence": 0.0, "cascade": cascade})
    ranking = RULES.ranking.model_copy(update={"trees": trees})
    return RULES.model_copy(update={"ranking": ranking, "ranking_model": model})


def ranked(request: RankingRequested, rules: RankResultsRules, hits: tuple[VectorHit, ...] = ()) -> RankingCompleted:
    """The results, whatever is asked for on the way."""
    replies: list[Reply] = []
    outcome = rank_results(request, rules)
    while isinstance(outcome, Ask):
        need = outcome.need
        assert isinstance(need, SearchVectors | AskModel)
        replies.append(VectorsReply(hits) if isinstance(need, SearchVectors) else answer_offline(need))
        outcome = read_ranking(request, tuple(replies), rules)
    return emitted(RankingCompleted, outcome)


def given(*trusts: dict[str, Any]) -> RankingRequested:
    """A request whose candidates have these fields of trust, one after another."""
    candidates = [
        {"url": f"https://{name}.example/{name}", "title": title, "content": content, "date": "2026-11-20"}
        | trusts[number % len(trusts)]
        for number, (name, title, content) in enumerate(PAGES)
    ]
    wire = {"request_id": "1", "query": "harbour storm", "candidates": candidates}
    return RankingRequested.model_validate(wire | {"requested_at": "2026-11-21T00:00:00Z"})


def found(*payloads: dict[str, Any]) -> tuple[VectorHit, ...]:
    """What the index finds, with these keys beside the usual ones."""
    return tuple(
        VectorHit(
            score=0.9 - number / 10,
            payload={"url": f"https://{name}.example/{name}", "title": title, "text": content}
            | payloads[number % len(payloads)],
        )
        for number, (name, title, content) in enumerate(PAGES)
    )


def without_trust(result: RankedResult) -> tuple[Any, ...]:
    assert result.features is not None
    return result.rank, result.url, result.score, result.stage_scores, result.reasons, result.features[:29]


@pytest.mark.parametrize("cascade", [True, False])
@pytest.mark.parametrize("phase", [Phase.BINARY, Phase.PAIRWISE])
def test_model_of_29_features_ignores_trust(phase: Phase, cascade: bool) -> None:
    rules = under(frozen_model() if phase is Phase.BINARY else generated_model(29, phase), cascade)
    trusts: list[list[dict[str, Any]]] = [
        [{}],
        [{"cts_score": 95, "trust_features": HIGH}, {"cts_score": 5, "trust_features": LOW}],
        [{"cts_score": 5, "trust_features": LOW}, {"cts_score": 95, "trust_features": HIGH}],
        [{"cts_score": 50}, {"trust_features": HIGH}, {}],
    ]
    queries = [ranked(given(*trust), rules) for trust in trusts]
    request = RankingRequested(request_id="2", query="harbour storm")
    indexed = [ranked(request, rules, found(*trust)) for trust in trusts]
    for events in (queries, indexed):
        assert "trees" in events[0].stages
        for event in events[1:]:
            assert list(map(without_trust, event.results)) == list(map(without_trust, events[0].results))
            assert event.trees == events[0].trees


def test_a_model_of_41_features_sees_trust_and_does_without_it() -> None:
    rules = under(generated_model(41), cascade=False)
    old = ranked(RankingRequested(request_id="3", query="harbour storm"), rules, found({}))
    new = ranked(
        RankingRequested(request_id="3", query="harbour storm"),
        rules,
        found({"cts_score": 95, "trust_features": HIGH}, {"cts_score": 5, "trust_features": LOW}),
    )
    assert "trees" in old.stages
    assert len(old.results) == len(PAGES)
    for result in old.results:
        assert result.features is not None
        assert result.features[Feature.TRUST_FEATURES_PRESENT] == 0.0
        assert set(result.features[30:]) == {None}
        assert result.cts_score is None
    before, after = ({result.url: result.stage_scores["trees"] for result in event.results} for event in (old, new))
    assert before != after


@pytest.mark.parametrize("cascade", [True, False])
def test_what_is_served_is_what_the_trees_were_shown(cascade: bool) -> None:
    """Point in time: training sees what serving saw, in the cascade too, where no judge has scored."""
    model = generated_model(41)
    event = ranked(given({"cts_score": 70, "trust_features": HIGH}, {}), under(model, cascade))
    served = np.array([result.features for result in event.results], dtype=np.float64)
    assert np.isnan(served[:, Feature.MODEL_SCORE]).all() == cascade
    again = model.score(served).tolist()
    assert [result.stage_scores["trees"] for result in event.results] == pytest.approx(again, abs=1e-6)
