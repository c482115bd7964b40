"""The screens ``claim`` and ``relevance``: the text, its judgments, their cost, and disagreement."""

from pathlib import Path

import pytest

from schemas.claims import ClaimEvaluated, ExtractedClaim, ToolOutcome, ToolUse
from schemas.llm import CallOutcome, LlmCall
from schemas.relevance import (
    RelevanceJudged,
    RelevanceOutcome,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from streams.llm.journal import JournalError
from streams.views.words import verdict_of
from tests.streams.console.consoles import OwnConsole, example

JUDGED = example(ClaimEvaluated, "stands_alone")
CLAIM = ExtractedClaim(
    claim_id=JUDGED.claim_id,
    claim_text="It moved there.",
    source_text="The kitchen was small. It moved there. <b>x</b>",
)
CALL = LlmCall(
    judged_by="model", model="judge-1", prompt_version="p", temperature=0, attempts=1, latency_ms=1200,
    prompt_tokens=900, completion_tokens=12, cost_usd=0.0042, outcome=CallOutcome.OK, call_id="call-1",
)  # fmt: skip


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(CLAIM)
    console.write(JUDGED, "decontextualize_claim", after=1)
    return console


def shown(console: OwnConsole) -> str:
    return console.client.get(f"/claim/{CLAIM.claim_id}").text


def test_claim_is_marked_and_the_offline_judge_is_free(console: OwnConsole) -> None:
    text = shown(console)
    assert '<mark class="claim" title="the claim">It moved there.</mark>' in text
    assert "<b>x</b>" not in text
    assert "the offline judge: rules, no model" in text
    assert "free" in text
    assert "Judges disagree" not in text


def test_a_paid_judgment_has_a_cost_and_a_cached_one_none(console: OwnConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: object, call_id: str) -> None:
        raise JournalError(f"no reply {call_id}")

    monkeypatch.setattr("streams.console.objects.stored_reply", refuse)
    tool = ToolUse(name="search", outcome=ToolOutcome.FOUND, hits=3)
    console.write(JUDGED.model_copy(update={"llm": CALL, "tool_calls": (tool,)}), "decontextualize_claim", after=2)
    text = shown(console)
    assert "judge-1" in text
    assert "paid $0.0042" in text
    assert "not available: no reply call-1" in text
    assert "<td>search</td><td>found</td>" in text
    call = CALL.model_copy(update={"cached": True, "call_id": None})
    console.write(JUDGED.model_copy(update={"llm": call}), "decontextualize_claim", after=3)
    assert "cached, nothing paid" in shown(console)


def test_disagreement_is_named(console: OwnConsole) -> None:
    other = JUDGED.model_copy(update={"decontextualization_score": 0.1})
    console.write(other, "decontextualize_claim", after=2, run="r1")
    text = shown(console)
    assert "Judges disagree" in text
    assert "The scores go from 0.10 to" in text
    assert "replay r1" in text


def test_an_expired_claim_keeps_its_verdict(console: OwnConsole) -> None:
    console.forget([*console.records.written])
    text = shown(console)
    assert "has expired" in text
    assert verdict_of(JUDGED) in text


REQUEST, RELEVANCE = example(RelevanceRequested, "shared_care"), example(RelevanceJudged, "shared_care")
OF_REQUEST = {"request_id": REQUEST.request_id, "url": REQUEST.url}


@pytest.fixture
def sources() -> OwnConsole:
    sources = OwnConsole()
    sources.write(SnippetsRequested(request_id=REQUEST.request_id, query="shared care", context="<i>what is it</i>"))
    sources.write(REQUEST, after=1)
    sources.write(RELEVANCE.model_copy(update=OF_REQUEST), "judge_relevance", after=2)
    return sources


def sources_shown(sources: OwnConsole) -> str:
    return sources.client.get(f"/relevance/{REQUEST.request_id}").text


def test_the_source_is_beside_its_judgment(sources: OwnConsole) -> None:
    text = sources_shown(sources)
    assert "&lt;i&gt;what is it&lt;/i&gt;" in text
    assert REQUEST.title in text
    assert f"<strong>{RELEVANCE.outcome}</strong>" in text
    assert "free" in text


def test_judges_that_disagree_are_named(sources: OwnConsole) -> None:
    assert "Judges disagree" not in sources_shown(sources)
    other = {"outcome": next(its for its in RelevanceOutcome if its is not RELEVANCE.outcome)}
    sources.write(RELEVANCE.model_copy(update=OF_REQUEST | other), "judge_relevance", after=3)
    assert "Judges disagree" in sources_shown(sources)


def test_the_snippet_and_sources_without_a_judgment_are_shown(sources: OwnConsole) -> None:
    sources.write(example(SnippetExtracted, "returning_zh", **OF_REQUEST), "judge_relevance", after=3)
    path = Path(__file__).parent / "three_sources.json"
    done = SnippetsCompleted.model_validate_json(path.read_bytes())
    sources.write(done.model_copy(update={"request_id": REQUEST.request_id}), "judge_relevance", after=4)
    text = sources_shown(sources)
    assert "<blockquote>" in text
    assert all(source.url in text for source in done.sources)
