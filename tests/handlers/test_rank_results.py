"""Ranking as a pure handler: stages and their switches, the judge's input and output, and trust among equals."""

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from handlers.ranking.config import RankingSection
from handlers.ranking.model import Feature
from handlers.text.tokens import fold
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel, SearchVectors
from schemas.outcome import Outcome, Retry, RetryReason
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName, StageNote, StageOutcome
from schemas.replies import (
    ModelFailed,
    ModelReply,
    ModelUnavailable,
    Reply,
    VectorHit,
    VectorsReply,
    VectorsUnavailable,
)
from streams.llm.tasks import answer_offline
from tests.handlers.ranking.models import generated_model
from tests.rules import shipped_rules
from tests.samples import emitted, instance
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(RankResultsRules)
ALL = ["retrieval", "bm25", "ranking", "trees", "mmr", "reasoning"]
CANDIDATES: list[dict[str, Any]] = list(TABLES["candidates"])


def request(**fields: Any) -> RankingRequested:
    wire = {"request_id": "query-1", "query": "boat race mill bridge", "candidates": CANDIDATES}
    return RankingRequested.model_validate(wire | fields)


def rules(**changes: dict[str, Any]) -> RankResultsRules:
    """The shipped rules with keys of sub-sections of ``ranking`` changed, and of ``reasoning``."""
    wire = RULES.ranking.model_dump()
    reasoning = changes.pop("reasoning", {})
    for name, values in changes.items():
        wire[name] |= values
    return with_sections(
        ranking=RankingSection.model_validate(wire), reasoning=RULES.reasoning.model_copy(update=reasoning)
    )


def with_sections(under: RankResultsRules = RULES, **sections: Any) -> RankResultsRules:
    """New rules with whole sections replaced."""
    return RankResultsRules.model_validate({name: getattr(under, name) for name in type(under).model_fields} | sections)


def replied(text: str, judged_by: str = "model") -> ModelReply:
    return ModelReply(text, (), call(judged_by))


def call(judged_by: str = "model", outcome: CallOutcome = CallOutcome.OK) -> LlmCall:
    fields = {"judged_by": judged_by, "model": "model-1", "prompt_version": "0" * 12, "temperature": 0.0}
    return LlmCall.model_validate({**fields, "outcome": outcome})


def scored(*scores: float) -> str:
    return json.dumps({"scores": [{"number": number, "score": score} for number, score in enumerate(scores, 1)]})


def run(
    asked: RankingRequested,
    under: RankResultsRules = RULES,
    judge: Reply | str | None = None,
    hits: tuple[VectorHit, ...] = (),
) -> Outcome:
    """The outcome with every ask answered: by the offline judge where no reply is given."""
    replies: list[Reply] = []
    answer = rank_results(asked, under)
    while isinstance(answer, Ask):
        need, state = answer.need, answer.state
        if isinstance(need, SearchVectors):
            replies.append(VectorsReply(hits))
        else:
            assert isinstance(need, AskModel)
            reply = replied(judge) if isinstance(judge, str) else judge
            replies.append(answer_offline(need) if reply is None else reply)
        answer = read_ranking(asked, tuple(replies), under)
        assert read_ranking(asked, tuple(replies), under, state) == answer, "the state saves work only"
    return answer


def completed(answer: Outcome | Ask) -> RankingCompleted:
    return emitted(RankingCompleted, answer)


def question(asked: RankingRequested, under: RankResultsRules = RULES) -> AskModel:
    return instance(AskModel, instance(Ask, rank_results(asked, under)).need)


def note(event: RankingCompleted, stage: StageName) -> StageNote:
    [found] = [note for note in event.notes if note.stage is stage]
    return found


def titles(event: RankingCompleted) -> list[str]:
    return [result.title for result in event.results]


def test_candidates_that_came_along_are_ranked_without_the_index() -> None:
    event = completed(run(request()))
    assert titles(event)[0] == "Boat race on the river this Sunday"
    assert [stage.value for stage in event.stages] == ["bm25", "ranking", "mmr", "reasoning"]
    assert note(event, StageName.RETRIEVAL) == StageNote(
        stage=StageName.RETRIEVAL, outcome=StageOutcome.SKIPPED, reason="4 candidates came along"
    )
    assert [note.stage.value for note in event.notes] == ALL
    assert event.llm is not None
    assert event.llm.judged_by == "offline"


def test_trust_passes_through_and_labels_name_their_origin() -> None:
    event = completed(run(request()))
    by_title = {result.title: result for result in event.results}
    race = by_title["Boat race on the river this Sunday"]
    assert race.trust_features is not None
    assert race.trust_features.model_dump(exclude_none=True, exclude={"domain_tags"}) == CANDIDATES[0]["trust_features"]
    found = {
        title: (result.cts_score, result.trust_label, result.reasoning_metadata.label_source)
        for title, result in by_title.items()
    }
    assert found == TABLES["trust_passes_through_and_labels_name_their_origin"]
    for result in event.results:
        assert result.reasoning_metadata.trust_label == result.trust_label


@pytest.mark.parametrize(("said", "name"), TABLES["the_crawler_or_the_list_names_the_source"])
def test_the_crawler_or_the_list_names_the_source(said: dict[str, Any], name: str) -> None:
    given = {"url": "https://a.example/1", "title": "Tea", "content": "Tea is hot.", "site_name": "Reuters", **said}
    assert f"Source: {name}\n" in completed(run(request(query="tea", candidates=[given]))).context


@pytest.mark.parametrize(("score", "features"), [(None, None), (1, {"source_tier": 3}), (97, {"source_tier": 1})])
def test_prompt_is_independent_of_trust(score: int | None, features: dict[str, Any] | None) -> None:
    changed = [candidate | {"cts_score": score, "trust_features": features} for candidate in CANDIDATES]
    assert question(request(candidates=changed)) == question(request())


def test_the_judge_is_shown_the_best_and_no_more_than_so_many() -> None:
    many = [{"url": f"https://a.example/{n}", "title": f"Boat race {n}", "content": "x " * 5000} for n in range(1, 41)]
    need = question(request(candidates=many), rules(model_ranking={"candidates": 7, "max_characters": 100}))
    assert len(re.findall(r"^<<passage ", need.messages[1].content, re.MULTILINE)) == 7
    assert len(need.messages[1].content) < 7 * 400
    assert len(need.facts["passages"]) == 7


@pytest.mark.parametrize(
    "text",
    [
        *TABLES["malformed_reply_keeps_the_previous_order"],
        f"```json\n{scored(1.0, 0.0)}\n```",
        scored(1.0) + scored(0.5),
        "[" * 50_000,
    ],
    ids=lambda text: repr(text[:30]),
)
def test_malformed_reply_keeps_the_previous_order(text: str) -> None:
    event = completed(run(request(), judge=text))
    assert note(event, StageName.RANKING).outcome is StageOutcome.FAILED
    assert StageName.RANKING not in event.stages
    assert event.llm is not None
    off = completed(run(request(), rules(model_ranking={"enabled": False})))
    assert [(result.url, result.score) for result in event.results] == [(r.url, r.score) for r in off.results]


def test_failed_judge_is_noted_and_the_previous_order_kept() -> None:
    event = completed(run(request(), judge=ModelFailed(call(outcome=CallOutcome.TIMEOUT), "no answer in time")))
    assert note(event, StageName.RANKING) == StageNote(
        stage=StageName.RANKING, outcome=StageOutcome.FAILED, reason="no answer in time"
    )
    assert event.llm is not None
    assert event.llm.outcome is CallOutcome.TIMEOUT
    assert len(event.results) == 4
    assert event.context


def test_an_unavailable_index_is_retried() -> None:
    assert read_ranking(request(candidates=None), (VectorsUnavailable("down"),), RULES) == Retry(
        RetryReason.UNAVAILABLE, "down"
    )


@pytest.mark.parametrize(
    ("changes", "off", "key"),
    [(changes, StageName[off], key) for changes, off, key in TABLES["every_stage_has_a_switch"]],
    ids=lambda value: str(value),
)
def test_every_stage_has_a_switch(changes: dict[str, Any], off: StageName, key: str) -> None:
    under = with_model(rules(**({"trees": {"mode": "on", "confidence": 0.0, "cascade": False}} | changes)))
    event = completed(run(request(), under, scored(1.0, 1.0, 1.0, 1.0)))
    assert [stage.value for stage in event.stages] == [name for name in ALL[1:] if name != off]
    assert note(event, off).outcome is StageOutcome.OFF
    assert all(key not in result.stage_scores for result in event.results)
    assert len(event.results) == 4
    assert bool(event.context) is (off is not StageName.REASONING)


def with_model(under: RankResultsRules) -> RankResultsRules:
    return with_sections(under, ranking_model=generated_model())


def test_trees_that_are_sure_spare_the_judge() -> None:
    under = with_model(rules(trees={"mode": "on", "confidence": 0.0, "cascade": True}))
    event = completed(rank_results(request(), under))
    assert note(event, StageName.RANKING).outcome is StageOutcome.SKIPPED
    assert "sure without it" in note(event, StageName.RANKING).reason
    assert StageName.TREES in event.stages
    assert event.llm is None
    assert event.trees is not None
    assert event.trees.features == 41


@pytest.mark.parametrize("diverse", [True, False])
def test_shadow_trees_change_nothing_and_report_agreement(diverse: bool) -> None:
    mmr = {"enabled": diverse}
    plain = completed(run(request(limit=2), rules(mmr=mmr)))
    event = completed(run(request(limit=2), with_model(rules(trees={"mode": "shadow", "confidence": 0.0}, mmr=mmr))))
    assert [(r.url, r.score) for r in event.results] == [(r.url, r.score) for r in plain.results]
    assert note(event, StageName.TREES).outcome is StageOutcome.SHADOW
    assert event.trees is not None
    assert event.trees.agreement in (0.0, 0.5, 1.0)
    assert not any(reason.startswith("generated") for result in event.results for reason in result.reasons)
    assert event.llm is not None


@pytest.mark.parametrize(("section", "values", "told"), TABLES["numbers_that_contradict_each_other_are_refused"])
def test_numbers_that_contradict_each_other_are_refused(section: str, values: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        rules(**{section: values})


@pytest.mark.parametrize("cascade", [True, False])
def test_what_is_served_is_what_the_trees_were_shown(cascade: bool) -> None:
    """Point in time: training sees what serving saw, in the cascade too, where no judge has scored."""
    model = generated_model(41)
    event = completed(run(request(), with_model(rules(trees={"mode": "on", "confidence": 0.0, "cascade": cascade}))))
    served = np.array([result.features for result in event.results], dtype=np.float64)
    assert np.isnan(served[:, Feature.MODEL_SCORE]).all() == cascade
    again = model.score(served).tolist()
    assert [result.stage_scores["trees"] for result in event.results] == pytest.approx(again, abs=1e-6)
    assert all(any(reason.startswith("generated 1 gives it ") for reason in r.reasons) for r in event.results)


def test_filters_hold_for_candidates_that_came_along() -> None:
    event = completed(run(request(filters={"domain": "news.example"})))
    assert [result.url for result in event.results] == ["https://news.example/race"]
    assert note(event, StageName.RETRIEVAL).reason == "4 candidates came along, 1 of them fit the filters"


@pytest.mark.parametrize("candidates", [CANDIDATES, None])
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        *(({"query": query}, "the query has no words") for query in ("!!!", "\U0001f600", "\u200b", " ", "…?", "_")),
        ({"filters": {"date_from": "last week"}}, "date_from: 'last week' is no date"),
    ],
)
def test_a_query_that_cannot_be_answered_fails_with_a_reason(
    fields: dict[str, Any], reason: str, candidates: list[dict[str, Any]] | None
) -> None:
    event = completed(rank_results(request(**fields, candidates=candidates), RULES))
    assert note(event, StageName.RETRIEVAL).outcome is StageOutcome.FAILED
    assert note(event, StageName.RETRIEVAL).reason.startswith(reason)
    assert (event.results, event.context, event.stages) == ((), "", ())


def test_copies_are_one_source_which_names_them() -> None:
    copy = {**CANDIDATES[0], "url": "https://copy.example/1", "cts_score": 20}
    copy["content"] += " (PA)"
    event = completed(run(request(candidates=[copy, *CANDIDATES])))
    [copied] = [result for result in event.results if result.copy_of]
    assert (copied.url, copied.copy_of) == (copy["url"], CANDIDATES[0]["url"])
    assert event.context.count("starts at noon") == 1
    assert '"copies": "copy.example"' in event.context
    assert note(event, StageName.REASONING).reason.endswith("; 1 result not relevant; 1 with the text of another")


@pytest.mark.parametrize(("query", "fits", "contradicts"), TABLES["a_candidate_that_contradicts_the_query_sinks"])
def test_a_candidate_that_contradicts_the_query_sinks(query: str, fits: str, contradicts: str) -> None:
    urls = {"https://a.example/": contradicts, "https://b.example/": fits}
    candidates = [{"url": url, "title": "", "content": content} for url, content in urls.items()]
    event = completed(run(request(query=query, candidates=candidates, requested_at="2026-11-29T09:00:00Z")))
    assert [result.passage for result in event.results] == [fits, contradicts]
    assert any(reason.startswith("does not fit: ") for reason in event.results[1].reasons)


@pytest.mark.parametrize("candidates", [[], None])
def test_empty_candidates_give_an_empty_answer_without_a_model(candidates: list[dict[str, Any]] | None) -> None:
    judge = ModelUnavailable("nobody should ask")
    event = completed(run(request(candidates=candidates), judge=judge))
    assert (event.results, event.context, event.llm) == ((), "", None)
    outcomes = {note.stage: note.outcome for note in event.notes}
    assert list(outcomes) == [StageName(name) for name in ALL]
    assert set(list(outcomes.values())[1:]) == {StageOutcome.SKIPPED}


def test_the_sources_of_a_context_have_a_limit_together() -> None:
    candidates = [candidate | {"content": f"{candidate['content']} It rains. " * 60} for candidate in CANDIDATES]
    event = completed(run(request(candidates=candidates), rules(reasoning={"max_context_characters": 1600})))
    assert len(event.results) == 4
    assert re.findall(r"<<source (\d)", event.context) == ["1", "2"]
    assert note(event, StageName.REASONING).reason.endswith(
        "; 1 more do not fit into max_context_characters; 1 result not relevant"
    )


TEXT = st.characters(exclude_characters="\0", codec="utf-8")
CANDIDATE = st.fixed_dictionaries(
    {
        "url": st.from_regex(r"https://[a-c]\.example/[a-e]", fullmatch=True),
        "title": st.text(TEXT, max_size=30),
        "content": st.text(TEXT, max_size=80),
        "cts_score": st.none() | st.integers(0, 100),
        "score": st.none() | st.floats(-1, 1),
    }
)


@cache
def without(stages: frozenset[str]) -> RankResultsRules:
    return rules(**{name: {"enabled": False} for name in stages})


@settings(deadline=None)
@given(
    candidates=st.lists(CANDIDATE, max_size=12),
    limit=st.none() | st.integers(1, 12),
    query=st.text(TEXT, min_size=1, max_size=40),
    switches=st.lists(st.sampled_from(["bm25", "model_ranking", "mmr"]), unique=True),
)
def test_results_are_unique_candidates_in_order_of_relevance(
    candidates: list[dict[str, Any]], limit: int | None, query: str, switches: list[str]
) -> None:
    under = without(frozenset(switches))
    event = completed(run(request(candidates=candidates, limit=limit, query=query), under))
    urls = [result.url for result in event.results]
    assert len(set(urls)) == len(urls)
    known = {candidate["url"] for candidate in candidates}
    assert set(urls) <= known
    assert len(urls) == (min(len(known), limit or under.ranking.limit) if fold(query) else 0)
    assert [result.rank for result in event.results] == list(range(1, len(urls) + 1))
    assert all(0 <= result.score <= 1 for result in event.results)
    if "mmr" in switches:
        scores = [result.stage_scores.get("trust", result.score) or 0.0 for result in event.results]
        assert scores == sorted(scores, reverse=True)
    else:
        relevant = [result.score >= under.ranking.least_relevance for result in event.results]
        assert relevant == sorted(relevant, reverse=True)
    places = [ALL.index(stage) for stage in event.stages]
    assert places == sorted(set(places))
    assert [note.stage.value for note in event.notes] == ALL
    assert {note.stage for note in event.notes if note.outcome is StageOutcome.RAN} == set(event.stages)
    assert RankingCompleted.model_validate_json(event.to_json()) == event


def test_the_score_is_relevance_and_nothing_relevant_is_reported() -> None:
    event = completed(run(request()))
    assert not event.nothing_relevant
    assert all(0 <= result.score <= 1 for result in event.results)
    assert event.results[0].score > 0.5
    other = completed(run(request(query="quantum chromodynamics lectures")))
    assert other.nothing_relevant
    assert not any(result.relevant for result in other.results)
    assert (other.context, note(other, StageName.REASONING).reason) == ("", "no result is relevant")
    assert [result.score for result in other.results] == [0.0] * len(other.results)
    assert completed(run(request(candidates=[]))).nothing_relevant


def test_the_order_of_candidates_without_scores_changes_nothing() -> None:
    forward, backward = completed(run(request())), completed(run(request(candidates=CANDIDATES[::-1])))
    assert [(each.url, each.score) for each in forward.results] == [(each.url, each.score) for each in backward.results]
