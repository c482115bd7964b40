"""How a snippet request is read: its query, its sources, or the reason why no source is tried."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from handlers.relevance.progress import ApprovedDomain, RelevanceGateSection
from handlers.request_snippets import RequestSnippetsRules, request_snippets
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.relevance import SnippetsCompleted, SnippetsRequested
from tests.rules import shipped_rules
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

DOMAINS = {
    "care": {"title": "Care", "relevantSources": ["https://a.example/", "https://b.example/"]},
    "health": {"relevantSources": ["https://c.example/", "https://a.example/"]},
}
RULES = shipped_rules(RequestSnippetsRules, domains=DOMAINS)


def decided(**fields: Any) -> ExtractionNeeded | SnippetsCompleted:
    request = SnippetsRequested.model_validate({"request_id": "r", "query": "care of a child"} | fields)
    [event] = request_snippets(request, RULES).events
    assert isinstance(event, ExtractionNeeded | SnippetsCompleted)
    return event


def urls(event: ExtractionNeeded | SnippetsCompleted) -> list[str]:
    return [source.url.removeprefix("https://").removesuffix(".example/") for source in event.sources]


def test_first_source_is_fetched_and_the_rest_queued() -> None:
    event = instance(ExtractionNeeded, decided(domain="care"))
    assert (event.target_url, event.request_id, event.reason) == (
        "https://a.example/", "r", ExtractionTrigger.SNIPPET_REQUESTED,
    )  # fmt: skip
    assert urls(event) == ["a", "b"]


@pytest.mark.parametrize(("fields", "query"), TABLES["the_users_words_come_before_the_query"])
def test_the_users_words_come_before_the_query(fields: dict[str, Any], query: str) -> None:
    assert decided(**fields).query == query


@pytest.mark.parametrize(("fields", "expected"), TABLES["sources_come_from_the_request_then_domain_then_query"])
def test_sources_come_from_the_request_then_domain_then_query(
    fields: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert urls(decided(**fields)) == list(expected)


@pytest.mark.parametrize(
    ("fields", "failure"),
    [
        *TABLES["what_can_not_be_tried_is_complete_at_once_and_says_why"],
        ({"urls": [f"https://d.example/{number}" for number in range(101)]}, "too_large"),
        ({"query": "q" * 20_001}, "too_large"),
        ({"context": "q" * 20_001}, "too_large"),
        ({"domain": "d" * 1000}, "unknown_domain"),
    ],
)
def test_what_can_not_be_tried_is_complete_at_once_and_says_why(fields: dict[str, Any], failure: str) -> None:
    event = instance(SnippetsCompleted, decided(**fields))
    assert (event.failure, event.sources) == (failure, ())
    assert event.config_version == RULES.config_version


def test_largest_request_is_not_too_large() -> None:
    urls = [f"https://d.example/{number}" for number in range(100)]
    event = instance(ExtractionNeeded, decided(query="q" * 20_000, urls=urls))
    assert (len(event.query), len(event.sources)) == (20_000, 100)


def test_no_more_sources_are_tried_than_the_limit() -> None:
    most = RULES.relevance_gate.max_sources
    event = decided(urls=[f"https://d.example/{number}" for number in range(most + 3)])
    assert [source.outcome for source in event.sources] == ["pending"] * most + ["not_fetched"] * 3
    assert event.sources[-1].failure == "over_budget"


@pytest.mark.parametrize("sources", TABLES["approved_sources_must_be_unique_web_pages"])
def test_approved_sources_must_be_unique_web_pages(sources: list[str]) -> None:
    with pytest.raises(ValidationError):
        ApprovedDomain(relevantSources=tuple(sources))


def test_snippets_too_large_for_one_event_are_refused_on_load() -> None:
    gate = RULES.relevance_gate.model_dump()
    gate |= {"max_sources": 100, "snippet": gate["snippet"] | {"max_characters": 20_000}}
    with pytest.raises(ValidationError, match="travel in one event"):
        RelevanceGateSection.model_validate(gate)


def test_a_deadline_begins_when_the_request_was_made() -> None:
    asked = {"requested_at": "2026-11-30T08:00:00Z", "deadline_seconds": 60}
    event = instance(ExtractionNeeded, decided(domain="care", **asked))
    assert event.answer_by == datetime(2026, 11, 30, 8, 1, tzinfo=UTC)
    assert instance(ExtractionNeeded, decided(domain="care", requested_at=asked["requested_at"])).answer_by is None
