"""Following an extraction through its replies, without a network."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from handlers.fetch_page import FetchPageRules, fetch_page, read_pages
from handlers.relevance.progress import MOST_CARRIED_CHARACTERS
from handlers.results.batch import MOST_TEXT_CHARACTERS
from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionStatus, ExtractionTrigger
from schemas.needs import Ask, FetchPages
from schemas.outcome import Emit
from schemas.pages import CrawledPage
from schemas.relevance import (
    MAX_SOURCES,
    Paragraph,
    RelevanceRequested,
    SnippetSource,
    SourceOutcome,
)
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, PagesReply
from schemas.retrieval import RetrievalBatch
from streams.topology import TOPIC_BYTES
from tests.rules import shipped_rules
from tests.samples import T, instance

RULES = shipped_rules(FetchPageRules)
HOST = "https://kalender.example"
WHEN = datetime(2026, 1, 2, tzinfo=UTC)
Web = Callable[[str], FetchedPage | FetchRefused]

STORY = "The concert begins at eight in the evening and lasts for two hours, with an interval of twenty minutes. " * 5


def needed(**fields: object) -> ExtractionNeeded:
    values: dict[str, object] = {
        "extraction_id": "e1",
        "batch_id": "b1",
        "query": "concert",
        "reason": ExtractionTrigger.AGGREGATOR_DETECTED,
        "target_url": f"{HOST}/events",
        "actionable_information": 0.2,
        "max_details": 4,
    }
    return ExtractionNeeded.model_validate(values | fields)


def page(url: str, html: str) -> FetchedPage:
    return FetchedPage(url, url, 200, "text/html; charset=utf-8", html.encode(), WHEN)


def detail(url: str, text: str = STORY) -> FetchedPage:
    return page(url, f"<title>Concert</title><article><h1>Concert {url[-1]}</h1><p>{text}</p></article>")


def cards(*links: str, extra: str = "") -> str:
    items = "".join(f'<li class="card"><h3><a href="{link}">Concert at {link[-6:]}</a></h3></li>' for link in links)
    return f"<body><ul>{items}</ul>{extra}</body>"


def run(
    event: ExtractionNeeded, web: Web, rules: FetchPageRules = RULES, rounds: int = 4
) -> tuple[Emit, list[tuple[str, ...]]]:
    """The outcome, and what was asked for in each round."""
    asked: list[tuple[str, ...]] = []
    replies: tuple[PagesReply, ...] = ()
    answer = fetch_page(event, rules)
    while isinstance(answer, Ask):
        asked.append(instance(FetchPages, answer.need).urls)
        assert len(asked) <= rounds
        replies = (*replies, PagesReply(tuple(web(url) for url in asked[-1])))
        answer = read_pages(event, replies, rules)
    return instance(Emit, answer), asked


def of_type(outcome: Emit, kind: type[T]) -> list[T]:
    return [event for event in outcome.events if isinstance(event, kind)]


def completed(outcome: Emit) -> ExtractionCompleted:
    [event] = of_type(outcome, ExtractionCompleted)
    return event


def test_a_listing_is_followed_to_its_details() -> None:
    links = [f"/event/{n}" for n in range(4)]
    outcome, asked = run(needed(), lambda url: page(url, cards(*links)) if url.endswith("events") else detail(url))
    assert asked == [(f"{HOST}/events",), tuple(HOST + link for link in links)]
    assert len(of_type(outcome, CrawledPage)) == 4
    [batch] = of_type(outcome, RetrievalBatch)
    assert (batch.attempt, batch.parent_batch_id, batch.previous_actionable_information) == (2, "b1", 0.2)
    assert [content.url for content in batch.retrieved_content] == [HOST + link for link in links]
    assert all("begins at eight" in content.content for content in batch.retrieved_content)
    assert completed(outcome).status is ExtractionStatus.OK


def test_the_sections_of_a_detail_follow_its_text() -> None:
    trail = '<nav aria-label="Breadcrumb"><a href="/">Home</a> <a href="/music">Chamber music</a></nav>'

    def web(url: str) -> FetchedPage:
        if url == f"{HOST}/events":
            return page(url, cards("/e/1", "/e/2", "/e/3", "/e/4"))
        return page(url, f"<title>Quartet</title><body>{trail}<article><h1>Quartet</h1><p>{STORY}</p></article></body>")

    outcome, _ = run(needed(), web)
    [batch] = of_type(outcome, RetrievalBatch)
    assert {content.content.splitlines()[-1] for content in batch.retrieved_content} == {"Home › Chamber music"}
    assert all(STORY[:40] in content.content for content in batch.retrieved_content)


def test_some_details_missing_is_partial_with_reasons() -> None:
    def web(url: str) -> FetchedPage | FetchRefused:
        if url.endswith("events"):
            return page(url, cards("/event/1", "/event/2", "/event/3"))
        if url.endswith("1"):
            return FetchRefused(url, FetchFailure.ROBOTS)
        return detail(url, "Page not found") if url.endswith("2") else detail(url)

    outcome, _ = run(needed(), web)
    event = completed(outcome)
    assert event.status is ExtractionStatus.PARTIAL
    assert {skipped.url[-1]: skipped.reason for skipped in event.skipped} == {
        "1": FetchFailure.ROBOTS,
        "2": FetchFailure.GONE,
    }
    assert len(of_type(outcome, RetrievalBatch)) == 1


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("web", "failure"),
    [
        (lambda url: FetchRefused(url, FetchFailure.ROBOTS), FetchFailure.ROBOTS),
        (lambda url: page(url, f"<h1>All events</h1>{cards()}"), FetchFailure.EMPTY),
        (lambda url: FetchedPage(url, url, 200, "application/pdf", b"%PDF-1.7", WHEN), FetchFailure.NOT_HTML),
        (lambda url: page(url, "<div>" * 5_000), FetchFailure.NO_CONTENT),
    ],
)
def test_nothing_that_came_is_a_failure_and_no_batch(web: Web, failure: FetchFailure, follow: bool) -> None:
    outcome, _ = run(needed(follow=follow), web)
    assert (completed(outcome).status, completed(outcome).failure) == (ExtractionStatus.FAILED, failure)
    assert len(outcome.events) == 1


def test_listing_pages_are_fetched_once_up_to_the_limit() -> None:
    def web(url: str) -> FetchedPage:
        if "events" not in url:
            return detail(url)
        number = int(url.rpartition("=")[2]) if "=" in url else 1
        following = 1 if number == 4 else number + 1
        pager = f'<a href="/events?page={following}">Next</a>'
        return page(url, cards(f"/event/{number}", extra=pager))

    rules = RULES.model_copy(update={"extraction": RULES.extraction.model_copy(update={"max_listing_pages": 10})})
    _, rounds = run(needed(max_details=50), web, rules, rounds=5)
    asked = [url for urls in rounds for url in urls]
    assert asked == [
        f"{HOST}/events",
        *(f"{HOST}/events?page={number}" for number in (2, 3, 4)),
        *(f"{HOST}/event/{number}" for number in (1, 2, 3, 4)),
    ]


@pytest.mark.parametrize(
    ("html", "failure"),
    [
        ("<title>Just a moment...</title><p>Please wait", FetchFailure.BLOCKED),
        ("<title>Shop</title><h1>Oh dear</h1><p>Page not found", FetchFailure.GONE),
        (f"<title>404 Not Found - Page not found</title>{cards('/event/1', '/event/2')}", FetchFailure.GONE),
    ],
)
def test_what_came_in_the_place_of_a_listing_is_not_followed(html: str, failure: FetchFailure) -> None:
    outcome, asked = run(needed(), lambda url: page(url, html))
    assert len(asked) == 1
    assert completed(outcome).failure is failure
    assert [skipped.reason for skipped in completed(outcome).skipped] == [failure]


@pytest.mark.parametrize("fields", [{"attempt": 2}, {"attempt": 99, "follow": False}])
def test_what_is_one_too_many_is_not_asked_for(fields: dict[str, object]) -> None:
    outcome, asked = run(needed(**fields), detail)
    assert asked == []
    assert len(outcome.events) == 1
    assert (completed(outcome).status, completed(outcome).failure) == (ExtractionStatus.FAILED, FetchFailure.HOP_LIMIT)


def test_duplicate_items_and_redirects_to_listings_are_skipped() -> None:
    def web(url: str) -> FetchedPage:
        if url.endswith("events"):
            return page(url, cards(*(f"/event/{n}" for n in range(4))))
        final = {"1": f"{HOST}/event/0", "2": f"{HOST}/events?utm_source=x", "3": f"{HOST}/"}.get(url[-1], url)
        return replace(detail(url), final_url=final)

    outcome, _ = run(needed(), web)
    event = completed(outcome)
    assert [source.url[-1] for source in event.fetched] == ["0"]
    assert {skipped.url[-1]: skipped.reason for skipped in event.skipped} == {
        "1": FetchFailure.DUPLICATE,
        "2": FetchFailure.GONE,
        "3": FetchFailure.GONE,
    }
    assert event.status is ExtractionStatus.PARTIAL


def test_items_on_other_domains_are_left_to_their_workers() -> None:
    links = ["https://one.example/event/1", "https://two.example/event/2"]
    outcome, asked = run(needed(), lambda url: page(url, cards(*links)))
    assert len(asked) == 1
    onward = of_type(outcome, ExtractionNeeded)
    assert [(event.target_url, event.follow, event.attempt) for event in onward] == [(link, False, 1) for link in links]
    assert len({event.extraction_id for event in onward}) == 2
    assert completed(outcome).status is ExtractionStatus.OK


def test_item_with_an_unusable_url_is_skipped() -> None:
    links = [f"https://{number}.one.example/event/{number * 9000}" for number in "234"]
    outcome, _ = run(needed(), lambda url: page(url, cards(*links, "https://two.example/event/1")))
    onward = of_type(outcome, ExtractionNeeded)
    assert [ExtractionNeeded.model_validate_json(event.to_json()) for event in onward] == onward


def snippet(**fields: object) -> ExtractionNeeded:
    return needed(**{"reason": "snippet_requested", "batch_id": None, "request_id": "r1", "follow": False} | fields)


@pytest.mark.parametrize("follow", [False, True])
def test_fetched_source_of_a_snippet_request_is_judged(follow: bool) -> None:
    outcome, asked = run(snippet(follow=follow), detail)
    assert asked == [(f"{HOST}/events",)], "it is read itself, whatever it looks like"
    [crawled, source, done] = outcome.events
    assert isinstance(crawled, CrawledPage)
    assert isinstance(source, RelevanceRequested)
    assert (source.request_id, source.query, source.url, source.sources) == ("r1", "concert", f"{HOST}/events", ())
    assert (source.html, source.content) == (None, None)
    assert source.paragraphs
    assert "begins at eight" in " ".join(paragraph.text for paragraph in source.paragraphs)
    assert done == completed(outcome)
    assert completed(outcome).status is ExtractionStatus.OK


def test_an_approved_source_is_fetched_once_for_all_queries() -> None:
    asks = [fetch_page(snippet(query=query), RULES) for query in ("concert", "opera")]
    assert asks[0] == asks[1] == Ask(FetchPages((f"{HOST}/events",), ""))


def test_the_largest_source_and_request_fit_into_a_record() -> None:
    """Every control character is six bytes of JSON, every character of an address or a snippet three."""
    sources = [
        SnippetSource(
            url="https://a.example/" + "字" * 8000,
            outcome=SourceOutcome.RELEVANT,
            title="字" * 1000,
            snippet="字" * (MOST_CARRIED_CHARACTERS // MAX_SOURCES),
        )
        for _ in range(MAX_SOURCES)
    ]
    largest = RelevanceRequested(
        request_id="字" * 512,
        query="字" * 20_000,
        url="https://a.example/",
        title="字" * 1000,
        summary="字" * 20_000,
        paragraphs=(Paragraph(text="\x01" * MOST_TEXT_CHARACTERS),),
        sources=tuple(sources),
    )
    assert len(largest.to_json()) < TOPIC_BYTES - 100_000


def test_a_long_source_is_judged_by_the_beginning_of_its_text() -> None:
    rules = RULES.model_copy(update={"extraction": RULES.extraction.model_copy(update={"max_text_characters": 100})})
    url = f"{HOST}/event/9"
    answer = instance(Emit, read_pages(snippet(target_url=url), (PagesReply((detail(url),)),), rules))
    [source] = of_type(answer, RelevanceRequested)
    assert source.title == "Concert"
    assert source.paragraphs
    assert sum(len(paragraph.text) for paragraph in source.paragraphs) == 100


@pytest.mark.parametrize("request_id", [None, "", "x" * 600, "a\x00b"])
def test_source_without_a_valid_request_id_uses_the_event_id(request_id: str | None) -> None:
    outcome, _ = run(snippet(request_id=request_id, query="q" * 30_000), detail)
    [source] = of_type(outcome, RelevanceRequested)
    assert (source.request_id, len(source.query)) == ("e1", 20_000)
