"""The evaluation of a search: the worked examples, the bands, and replies of every kind."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.evaluate_search import EvaluateSearchRules, evaluate_search, read_search, recommend
from handlers.retrieval.search_rubric import Bands
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply
from schemas.retrieval import RetrievalBatch, RetrievedContent
from schemas.search import Recommendation, SearchEvaluated, SearchOutcome, SearchScoreSource
from streams.llm.tasks import answer_offline
from tests.rules import shipped_rules
from tests.samples import emitted, instance, judged_offline
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(EvaluateSearchRules)
BATCHES = Path(__file__).parents[2] / "schemas" / "examples" / "retrieval.batches.v1"
WORKED = [
    ("laptop_offers", 0.88, 0.9, "stop"),
    ("hamster_breeders", 0.35, 0.3, "continue"),
    ("gaming_headset", 0.52, 0.1, "continue"),
]
"""The score of a model, the rubric's total, and what is recommended."""
OK = LlmCall(judged_by="model", model="m", prompt_version="v", temperature=0.2, outcome=CallOutcome.OK)


def worked(stem: str) -> RetrievalBatch:
    return RetrievalBatch.model_validate_json((BATCHES / f"{stem}.json").read_bytes())


def asked(batch: RetrievalBatch) -> AskModel:
    return instance(AskModel, instance(Ask, evaluate_search(batch, RULES)).need)


def read(batch: RetrievalBatch, reply: ModelReply | ModelFailed) -> SearchEvaluated:
    outcome = read_search(batch, (reply,), RULES)
    answered = evaluate_search(batch, RULES)
    if isinstance(answered, Ask):
        assert read_search(batch, (reply,), RULES, answered.state) == outcome, "the state saves work only"
    evaluated = emitted(SearchEvaluated, outcome)
    assert SearchEvaluated.model_validate_json(evaluated.to_json()) == evaluated
    return evaluated


def said(text: str, batch: RetrievalBatch | None = None) -> SearchEvaluated:
    return read(batch or worked("laptop_offers"), ModelReply(text, (), OK))


def reply(**changes: Any) -> str:
    fields = {
        "satisfied": True,
        "quality_score": 0.9,
        "gaps": "",
        "recommendation": "stop",
        "suggested_refinements": [],
    }
    return json.dumps(fields | changes)


@pytest.mark.parametrize(("stem", "score", "total", "recommendation"), WORKED)
def test_a_worked_example_has_its_recommendation(stem: str, score: float, total: float, recommendation: str) -> None:
    """R-094 to R-096, C-16: what a model says there, and what is said without one."""
    batch = worked(stem)
    judged = said(reply(quality_score=score, gaps="Something." if recommendation == "continue" else "None"), batch)
    counted = read(batch, instance(ModelReply, answer_offline(asked(batch))))
    for evaluated in (judged, counted):
        assert evaluated.recommendation == recommendation
        assert evaluated.satisfied is (recommendation == "stop")
        assert (evaluated.gaps == "") is evaluated.satisfied
        assert (evaluated.suggested_refinements == ()) is evaluated.satisfied
    assert judged.quality_score == score
    assert judged.rubric == counted.rubric
    assert (counted.quality_score, counted.rubric.total, counted.score_source) == (total, total, "rubric")
    assert counted.outcome is SearchOutcome.JUDGED
    assert counted.llm is not None
    assert counted.llm.judged_by == "offline"


@pytest.mark.parametrize("fails", [False, True])
def test_unchecked_fields_do_not_end_a_search(fails: bool) -> None:
    """C-14: without a model these fields are unknown."""
    results = [
        RetrievedContent(url=f"https://shop{n}.example/", title=f"Brass lamp {n}", content="$12") for n in range(5)
    ]
    fields = ("title", "url", "dimensions", "colour")
    batch = RetrievalBatch(
        batch_id="b", query="brass lamp", goal="brass lamp", required_fields=fields, retrieved_content=tuple(results)
    )
    answered = ModelFailed(OK, "no answer") if fails else answer_offline(asked(batch))
    assert isinstance(answered, ModelReply | ModelFailed)
    evaluated = read(batch, answered)
    assert evaluated.rubric.coverage == 0.2
    assert (evaluated.satisfied, evaluated.recommendation) == (False, "continue")
    assert evaluated.gaps.startswith("Not checked: dimensions, colour.")
    assert "Add 'colour' to the query" in evaluated.suggested_refinements
    assert evaluated.unchecked_fields == ("dimensions", "colour")
    by_model = said(reply(quality_score=0.7), batch)
    assert by_model.satisfied, "a model has looked for them"


@pytest.mark.parametrize(("score", "gaps", "missing", "recommendation"), TABLES["the_bands_are_half_open"])
def test_the_bands_are_half_open(score: float, gaps: str, missing: tuple[str, ...], recommendation: str) -> None:
    assert recommend(score, gaps, missing, Bands()) == recommendation


@pytest.mark.parametrize("nothing", ["No significant gaps", "None.", "n/a", "", "  "])
def test_words_that_mean_no_gap_become_an_empty_gap(nothing: str) -> None:
    batch = worked("laptop_offers").model_copy(update={"required_fields": ("title",)})
    evaluated = said(reply(quality_score=0.7, gaps=nothing), batch)
    assert (evaluated.recommendation, evaluated.gaps) == ("stop", "")


MALFORMED = [
    *TABLES["malformed"],
    *(reply(**fields) for fields in TABLES["malformed_fields"]),
    f"```json\n{reply()}\n```",
    f"{reply()} {reply(quality_score=0.1)}",
    reply()[:-1],
    '{"quality_score": 0.9, ' + reply()[1:],
    reply(quality_score=float("nan")),
    reply(quality_score=float("inf")),
    reply(gaps=["none"]),
    reply(suggested_refinements=[1]),
    reply().replace("0.9", "9" * 5000),
    reply().replace("0.9", "1e999"),
    "[" * 100_000,
    '{"a":' * 100_000,
]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text[:30].partition("\n")[0]))
def test_malformed_reply_leaves_the_rubric(text: str) -> None:
    evaluated = said(text)
    assert evaluated.outcome is SearchOutcome.MALFORMED
    assert evaluated.score_source is SearchScoreSource.RUBRIC
    assert evaluated.quality_score == evaluated.rubric.total == 0.9
    assert evaluated.llm == OK


def test_a_failed_call_leaves_the_rubric_and_is_named() -> None:
    call = OK.model_copy(update={"outcome": CallOutcome.TIMEOUT})
    evaluated = read(worked("gaming_headset"), ModelFailed(call, "no answer"))
    assert evaluated.outcome is SearchOutcome.FAILED
    assert (evaluated.score_source, evaluated.quality_score) == ("rubric", evaluated.rubric.total)
    assert evaluated.llm == call
    assert evaluated.recommendation is Recommendation.CONTINUE


def test_what_a_judge_says_can_travel() -> None:
    evaluated = said(
        reply(quality_score=0.3, gaps="a\x00b\ud800c" + "x" * 5000, suggested_refinements=["\u202ey" + "z" * 999] * 99)
    )
    assert evaluated.outcome is SearchOutcome.JUDGED
    assert evaluated.gaps.startswith("abcx")
    assert len(evaluated.gaps) == 1000
    assert [len(text) for text in evaluated.suggested_refinements] == [200]


GAPS = st.sampled_from(["", "None", "No price.", " ", "n/a", "x" * 2000, "a\x00b"]) | st.text(max_size=30)
WELL_FORMED = st.fixed_dictionaries(
    {
        "satisfied": st.booleans(),
        "quality_score": st.floats(0, 1),
        "gaps": GAPS,
        "recommendation": st.sampled_from(["stop", "continue"]),
        "suggested_refinements": st.lists(GAPS, max_size=8),
    }
)
RESULTS = st.lists(
    st.builds(
        RetrievedContent,
        url=st.sampled_from(
            ["https://a.example/1", "https://www.bestbuy.com/x", "https://www.reddit.com/r/x", "no url"]
        ),
        title=st.none() | st.sampled_from(["Gaming laptop review", "Buy a laptop", ""]),
        content=st.sampled_from(["", "$849, in stock, free shipping", "What I think of it", "price on request"]),
    ),
    max_size=8,
)
FIELDS = st.none() | st.lists(st.sampled_from(["title", "price", "availability", "url", "colour", ""]), max_size=5)


@given(WELL_FORMED, RESULTS, FIELDS)
def test_verdict_follows_from_score_gaps_and_fields_only(
    content: dict[str, Any], results: list[RetrievedContent], fields: list[str] | None
) -> None:
    """C-15 to C-17, for every batch and every well-formed reply; the rubric is always included."""
    batch = RetrievalBatch(
        batch_id="b",
        query="gaming laptop",
        required_fields=None if fields is None else tuple(fields),
        retrieved_content=tuple(results),
    )
    if not results:
        evaluated = emitted(SearchEvaluated, evaluate_search(batch, RULES))
        assert (evaluated.quality_score, evaluated.recommendation, evaluated.llm) == (0.0, "continue", None)
        assert (evaluated.satisfied, evaluated.outcome) == (False, SearchOutcome.NO_RESULTS)
        assert evaluated.suggested_refinements
        return
    evaluated = said(json.dumps(content), batch)
    flattered = said(json.dumps(content | {"satisfied": True, "recommendation": "stop"}), batch)
    assert flattered == evaluated, "what the judge recommends is left aside"
    assert (evaluated.score_source, evaluated.quality_score) == ("model", content["quality_score"])
    score, bands = evaluated.quality_score, RULES.search_evaluation.bands
    if score >= bands.high:
        assert evaluated.satisfied
    if score < bands.acceptable or (score < bands.high and evaluated.missing_fields):
        assert not evaluated.satisfied
    if evaluated.satisfied:
        assert (evaluated.gaps, evaluated.suggested_refinements) == ("", ())
    parts = evaluated.rubric
    total = parts.count + parts.coverage + parts.diversity + parts.relevance
    most = RULES.search_evaluation.relevance.most_off_goal
    assert parts.total in (pytest.approx(min(1.0, max(0.0, total)), abs=1e-4), most)
    assert parts.total <= max(most, total) + 1e-4
    assert parts == said("no JSON", batch).rubric


def test_a_page_without_a_text_beside_it_is_read() -> None:
    html = "<title>Jazz in Aarhus</title><body><main><p>Jazz concert in Aarhus, 29 November, 20:00.</p></main>"
    batch = RetrievalBatch(
        batch_id="b",
        query="jazz in Aarhus",
        required_fields=("title",),
        retrieved_content=tuple(RetrievedContent(url=f"https://{n}.example/jazz", html=html) for n in "abc"),
    )
    need = asked(batch)
    assert "29 November, 20:00" in need.messages[1].content
    assert need.facts["recommendation"] == "stop"


def test_a_result_whose_page_is_not_found_is_left_out() -> None:
    html = "<title>Page not found</title><body><main><p>Have a look at what else is on.</p></main>"
    result = RetrievedContent(url="https://a.example/jazz", title="Jazz in Aarhus", content="Jazz.", html=html)
    batch = RetrievalBatch(batch_id="b", query="jazz in Aarhus", retrieved_content=(result,))
    assert emitted(SearchEvaluated, evaluate_search(batch, RULES)).outcome is SearchOutcome.NO_RESULTS


def test_goals_that_results_can_meet_end_a_search() -> None:
    """Twelve batches with results as address, title and text, without a model."""
    for number, line in enumerate(Path(__file__).with_name("searches.jsonl").read_text("utf-8").splitlines()):
        case = json.loads(line)
        found = [dict(zip(("url", "title", "content"), text.split("|"), strict=True)) for text in case["results"]]
        wanted = {"query": case["goal"], "goal": case["goal"], "required_fields": case["fields"]}
        batch = RetrievalBatch.model_validate({"batch_id": f"b{number}", "retrieved_content": found, **wanted})
        step = evaluate_search(batch, RULES)
        outcome = judged_offline(step, partial(read_search, batch, rules=RULES))
        assert emitted(SearchEvaluated, outcome).satisfied is case["stop"], case["goal"]
