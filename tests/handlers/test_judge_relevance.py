"""The relevance gate: its question, the meaning of a reply, and the snippet of a relevant source."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from handlers.html.snippet import SourcePage, begin, paragraphs_of
from handlers.html.walk import walk_page
from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance, read_relevance, read_word
from handlers.offline.judges import UNDECIDED
from handlers.offline.judges import judge_relevance as answer
from handlers.relevance.progress import content_hash
from schemas.event import Event
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit, Retry
from schemas.relevance import (
    RelevanceJudged,
    RelevanceOutcome,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetSource,
    SourceOutcome,
)
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from streams.llm.journal import answer_key
from streams.llm.tasks import answer_offline
from tests.rules import shipped_rules
from tests.samples import emitted, instance
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(JudgeRelevanceRules)
PROSE = (
    "Brakes wear down with every ride, and a lever that reaches the handlebar says that the cable has stretched or "
    "that the pads are gone. Loosen the bolt, pull the cable tight and fasten the bolt again."
)
PAGE = f"""<html><head><title>Repairing bicycle brakes</title>
<meta name="description" content="How the brakes of a bicycle are repaired."></head>
<body><nav><a href="/">Home</a></nav><article><h1>Repairing bicycle brakes</h1><p>{PROSE}</p><p>Share</p></article>
</body></html>"""


def source(**values: Any) -> RelevanceRequested:
    fields = {"request_id": "r", "query": "repair of bicycle brakes", "url": "https://a.example/b", "html": PAGE}
    return RelevanceRequested.model_validate(fields | values)


def asked(given: RelevanceRequested) -> AskModel:
    return instance(AskModel, instance(Ask, judge_relevance(given, RULES)).need)


def call(outcome: CallOutcome = CallOutcome.OK) -> LlmCall:
    return LlmCall(judged_by="model", model="m", prompt_version="p", temperature=0.1, outcome=outcome)


def events(given: RelevanceRequested, text: str) -> tuple[Event, ...]:
    outcome = instance(Emit, read_relevance(given, (ModelReply(text, (), call()),), RULES))
    return outcome.events


def test_answer_key_depends_on_url_content_query_model_prompt() -> None:
    """The cache key of an answer depends on all of these, and on the prompt's version (R-131)."""
    given = (source(), source(url="https://b.example/"), source(html=PAGE + "<p>x"), source(query="brakes"))
    keys = {answer_key(asked(one), model) for one in given for model in ("m", "n")}
    keys.add(answer_key(replace(asked(source()), prompt_version="another"), "m"))
    assert len(keys) == 9
    assert answer_key(asked(source(request_id="r2")), "m") == answer_key(asked(source()), "m"), "but not the request"


@pytest.mark.parametrize("empty", [{"html": None}, {"html": ""}, {"html": "<p></p>"}, {"html": "", "content": "\n "}])
def test_no_model_is_asked_without_title_and_summary(empty: dict[str, Any]) -> None:
    ours = SnippetSource(url="https://a.example/b")
    event, ended = instance(Emit, judge_relevance(source(**empty, sources=(ours,)), RULES)).events
    judged = instance(RelevanceJudged, event)
    assert (judged.relevant, judged.outcome) == (False, RelevanceOutcome.NO_EVIDENCE)
    assert instance(SnippetsCompleted, ended).sources[0].outcome is SourceOutcome.NO_EVIDENCE


def test_a_relevant_source_has_a_snippet_of_its_paragraphs() -> None:
    judged, given = events(source(), "Relevant")
    assert instance(RelevanceJudged, judged).relevant
    snippet = instance(SnippetExtracted, given)
    assert (snippet.snippet, snippet.failure) == (PROSE, None)


def test_a_source_read_by_fetch_page_is_judged_as_its_page() -> None:
    facts, limits = SourcePage(PAGE, None, "", RULES.pages).facts, RULES.relevance_gate.snippet
    seen, paragraphs = begin(facts, "", "", limits), paragraphs_of(facts, "", limits)
    said = [paragraph.to_wire() for paragraph in paragraphs]
    digest = content_hash(PAGE)
    read = source(html=None, title=seen.title, summary=seen.summary, paragraphs=said, content_hash=digest)
    assert asked(read).facts == asked(source()).facts
    assert events(read, "Relevant")[1:] == events(source(), "Relevant")[1:]


def test_a_page_is_parsed_once_for_each_look_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = Mock(wraps=walk_page)
    monkeypatch.setattr("handlers.html.content.walk_page", walked)
    rules = shipped_rules(JudgeRelevanceRules)
    asked = instance(Ask, judge_relevance(source(), rules))
    assert walked.call_count == 1
    read_relevance(source(), (ModelReply("Relevant", (), call()),), rules, asked.state)
    assert walked.call_count == 2


def test_unreadable_page_is_judged_by_its_title_and_reported() -> None:
    given = source(html="<div>" * 5_000, title="Repairing bicycle brakes")
    assert "Repairing bicycle brakes" in asked(given).messages[0].content
    [judged] = events(given, "Irrelevant")
    assert instance(RelevanceJudged, judged).summary_failure
    [judged] = events(source(), "Irrelevant")
    assert instance(RelevanceJudged, judged).summary_failure is None


@pytest.mark.parametrize(("text", "meaning"), TABLES["a_word_is_read_exactly"])  # fmt: skip
def test_a_word_is_read_exactly(text: str, meaning: str) -> None:
    assert read_word(text) == meaning


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        (CallOutcome.TIMEOUT, "timeout"), (CallOutcome.ERROR, "error"), (CallOutcome.REFUSED, "error"),
        (CallOutcome.TRUNCATED, "unparsed"), (CallOutcome.EMPTY, "unparsed"), (CallOutcome.RATE_LIMITED, "error"),
    ],
)  # fmt: skip
def test_a_failed_call_keeps_the_source_out_under_its_own_name(ended: CallOutcome, outcome: str) -> None:
    judged = emitted(RelevanceJudged, read_relevance(source(), (ModelFailed(call(ended), "why"),), RULES))
    assert (judged.relevant, judged.outcome, judged.detail) == (False, outcome, "why")


@pytest.mark.parametrize(
    ("query", "title", "text", "word"),
    TABLES["question_words_need_not_occur_in_the_page"] + TABLES["what_tells_two_subjects_apart_is_needed"],
)
def test_the_words_that_a_source_needs(query: str, title: str, text: str, word: str) -> None:
    assert answer(asked(source(query=query, html=None, title=title, content=text)).facts) == word


def test_only_the_offline_judge_may_abstain() -> None:
    offline = answer_offline(asked(source(query="how wine is made")))
    for reply, outcome in ((offline, "undecided"), (ModelReply(UNDECIDED, (), call(CallOutcome.OK)), "unparsed")):
        read = read_relevance(source(query="how wine is made"), (instance(ModelReply, reply),), RULES)
        judged = emitted(RelevanceJudged, read)
        assert (judged.relevant, judged.outcome) == (False, outcome)


def test_an_outage_ends_a_request_at_its_deadline() -> None:
    until = datetime(2026, 11, 30, 8, 1, tzinfo=UTC)
    states = [
        ("https://c.example/", "irrelevant"),
        ("https://a.example/b", "pending"),
        ("https://d.example/", "pending"),
    ]
    given = source(answer_by=until, sources=[{"url": url, "outcome": outcome} for url, outcome in states])
    down = ModelUnavailable("down", 5.0, cause="status 500", at=until - timedelta(seconds=1))
    assert isinstance(read_relevance(given, (down,), RULES), Retry)
    assert isinstance(read_relevance(source(), (replace(down, at=until),), RULES), Retry), "it has no deadline"
    judged, ended = instance(Emit, read_relevance(given, (replace(down, at=until),), RULES)).events
    assert instance(RelevanceJudged, judged).outcome == "timeout"
    done = instance(SnippetsCompleted, ended)
    assert [item.outcome for item in done.sources] == ["irrelevant", "not_judged", "not_judged"]
