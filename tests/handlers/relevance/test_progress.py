"""The progress of a request: each source has one turn, and the request completes once."""

import pytest

from handlers.relevance.progress import go_on, settled, sources_of
from schemas.extraction import ExtractionNeeded
from schemas.relevance import SnippetsCompleted, SnippetSource, SourceOutcome
from schemas.replies import FetchFailure
from tests.samples import instance

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


@pytest.mark.parametrize("urls", [(A, A), (A, f" {A}#part "), (A, "HTTPS://A.example:443/"), (A, " ", "")])
def test_spellings_of_one_url_are_one_source(urls: tuple[str, ...]) -> None:
    assert [source.url for source in sources_of(urls, 10)] == [A]


@pytest.mark.parametrize("url", ["no address", "javascript://a.example/%0a", "https://a.example/" + "a" * 9000])
def test_a_source_that_is_no_web_page_is_not_fetched(url: str) -> None:
    [source] = sources_of([url], 10)
    assert (source.outcome, source.failure) == (SourceOutcome.NOT_FETCHED, FetchFailure.INVALID_URL)
    assert source.url == url[:8192]


def test_a_source_that_had_its_turn_is_left_as_it_is() -> None:
    sources = (SnippetSource(url=A, outcome=SourceOutcome.RELEVANT, snippet="Text."), SnippetSource(url=B))
    assert settled(sources, A, SourceOutcome.ERROR) == sources
    assert settled(sources, C, SourceOutcome.ERROR) == sources


def test_request_with_foreign_sources_still_ends() -> None:
    """An event from elsewhere may carry anything: each step settles a source or asks for one that it will settle."""
    step = instance(ExtractionNeeded, go_on("r", "q", settled((SnippetSource(url=A),), B, SourceOutcome.ERROR), "v"))
    assert step.target_url == A
    assert isinstance(go_on("r", "q", settled(step.sources, A, SourceOutcome.ERROR), "v"), SnippetsCompleted)
