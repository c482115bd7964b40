"""The screen ``relevance``: each source with its text, its judgments and its snippet."""

from pathlib import Path

import pytest

from schemas.relevance import (
    RelevanceJudged,
    RelevanceOutcome,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from tests.samples import EXAMPLES
from tests.streams.console.consoles import OwnConsole

_PATH = EXAMPLES / "relevance.requested.v1" / "shared_care.json"
REQUEST = RelevanceRequested.model_validate_json(_PATH.read_bytes())
JUDGED = RelevanceJudged.model_validate_json((EXAMPLES / "relevance.judged.v1" / "shared_care.json").read_bytes())
OF_REQUEST = {"request_id": REQUEST.request_id, "url": REQUEST.url}


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(SnippetsRequested(request_id=REQUEST.request_id, query="shared care", context="<i>what is it</i>"))
    console.write(REQUEST, after=1)
    console.write(JUDGED.model_copy(update=OF_REQUEST), "judge_relevance", after=2)
    return console


def shown(console: OwnConsole) -> str:
    return console.client.get(f"/relevance/{REQUEST.request_id}").text


def test_the_source_is_beside_its_judgment(console: OwnConsole) -> None:
    text = shown(console)
    assert "&lt;i&gt;what is it&lt;/i&gt;" in text
    assert REQUEST.title in text
    assert f"<strong>{JUDGED.outcome}</strong>" in text
    assert "free" in text


def test_judges_that_disagree_are_named(console: OwnConsole) -> None:
    assert "Judges disagree" not in shown(console)
    other = {"outcome": next(its for its in RelevanceOutcome if its is not JUDGED.outcome)}
    console.write(JUDGED.model_copy(update=OF_REQUEST | other), "judge_relevance", after=3)
    assert "Judges disagree" in shown(console)


def test_the_snippet_and_sources_without_a_judgment_are_shown(console: OwnConsole) -> None:
    path = EXAMPLES / "snippets.extracted.v1" / "returning_zh.json"
    snippet = SnippetExtracted.model_validate_json(path.read_bytes())
    console.write(snippet.model_copy(update=OF_REQUEST), "judge_relevance", after=3)
    path = Path(__file__).parent / "three_sources.json"
    done = SnippetsCompleted.model_validate_json(path.read_bytes())
    console.write(done.model_copy(update={"request_id": REQUEST.request_id}), "judge_relevance", after=4)
    text = shown(console)
    assert "<blockquote>" in text
    assert all(source.url in text for source in done.sources)
