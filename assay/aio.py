"""The functions of ``assay`` as coroutines. The reading of a page runs in a thread, so the event loop goes on.

A page is read in the caller's process, without limits of time and memory. ``score_many`` reads in child processes, with
the limits of the section ``workers``.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import ValidationError

from assay.results import (
    NO_ADDRESS,
    Claim,
    Classification,
    Evaluation,
    Page,
    Ranking,
    Refusal,
    Score,
    Snippet,
)
from handlers.html.encoding import page_bytes
from schemas.event import Event, Part, derive_id
from schemas.mappings import UnknownKeyError, fields_of
from schemas.needs import Ask
from schemas.outcome import Dead, Drop, Emit, Outcome, Retry
from schemas.pages import CrawledPage, ScoredPage
from schemas.rules import Rules
from streams.runtime.extras import missing_extra
from streams.runtime.process import structlog_to_logging
from streams.settings.lazy import LazySettings

if TYPE_CHECKING:
    from streams.workers.handler_jobs import Answer

Settings = LazySettings
Configuration = Settings | Mapping[str, Any] | None
"""The configuration of a call: settings, or sections as the configuration file has them; as shipped without."""
E = TypeVar("E", bound=Event)
R = TypeVar("R", bound=Rules)
_SHIPPED = LazySettings()
_ADDRESS = re.compile(r"https?://[^\s<>]+", re.IGNORECASE)


async def score(
    html: str | bytes | None = None,
    *,
    url: str,
    text: str | None = None,
    content_type: str | None = None,
    site_name: str | None = None,
    fetched_at: datetime | None = None,
    settings: Configuration = None,
) -> Score | Refusal:
    """How far a page can be trusted.

    Args:
        html: The page; bytes in any encoding.
        url: The whole address, with https://; its host decides the source's tier. Nothing is fetched.
        text: The main text, if there is no HTML. Without the page there is no score, and the source decides the label.
        content_type: The Content-Type header; its charset precedes the page's own.
        site_name: The publisher, if it is known from elsewhere than the page.
        fetched_at: When the page was fetched; dates after it are not dates of publication.
        settings: The configuration; the shipped one by default.

    Raises:
        SettingsError: The configuration is invalid.
    """
    given = {
        "url": url,
        "content": text,
        "content_type": content_type,
        "site_name": site_name,
        "fetched_at": fetched_at,
    }
    if isinstance(html, str) and _ADDRESS.fullmatch(html):
        return Refusal("invalid", ("html is an address, and nothing is fetched: give the page",))
    page = _event(CrawledPage, given | _body(html))
    if isinstance(page, Refusal):
        return page
    return await asyncio.to_thread(_score, page, _configured(settings))


async def read(
    html: str | bytes, *, url: str = "", content_type: str | None = None, settings: Configuration = None
) -> Page | Refusal:
    """The main text of a page, with its Markdown, title, date, authors, language and state, without a score.

    Args:
        html: The page; bytes in any encoding.
        url: The address, if it is known; it may name the day.
        content_type: The Content-Type header; its charset precedes the page's own.
        settings: The configuration; the shipped one by default.
    """
    found = await score(html, url=url or NO_ADDRESS, content_type=content_type, settings=settings)
    return Page(found.event) if isinstance(found, Score) else found


async def score_many(
    pages: Iterable[CrawledPage | Mapping[str, Any]],
    *,
    processes: int | None = None,
    settings: Configuration = None,
) -> AsyncIterator[Score | Refusal]:
    """The scores of many pages in their order, from child processes with limits of time and memory for each page.

    Args:
        pages: Mappings with the fields of ``pages.crawled.v1``, such as ``{"url": …, "html": …}``; an unknown key is
            refused.
        processes: Child processes; one for each core by default.
        settings: The configuration; the shipped one by default.

    Raises:
        ValueError: ``processes`` is below 1.
        SettingsError: The configuration is invalid.
    """
    async with Scorer(processes=processes, settings=settings) as scorer:
        under_way: deque[asyncio.Task[Score | Refusal]] = deque()
        try:
            for page in pages:
                under_way.append(asyncio.create_task(scorer.score(page)))
                if len(under_way) > scorer.enough:
                    yield await under_way.popleft()
            while under_way:
                yield await under_way.popleft()
        finally:
            for task in under_way:
                task.cancel()


class Scorer:
    """Scores pages in child processes with limits of time and memory, between ``async with``; as ``score_many``."""

    def __init__(self, *, processes: int | None = None, settings: Configuration = None) -> None:
        """Starts nothing yet; raises as ``score_many``."""
        if processes is not None and processes < 1:
            raise ValueError(f"processes must be at least 1, not {processes}")
        from handlers.score_page import ScorePageRules
        from streams.telemetry.metrics import unexposed_metrics
        from streams.topology import handler_named
        from streams.workers.handler_jobs import handler_pool
        from streams.workers.settings import WorkersSettings, cores

        settings, handler = _configured(settings), handler_named("score_page")
        assert handler is not None  # noqa: S101 - it is declared
        workers = settings.whole.workers if settings.overrides else WorkersSettings()
        workers = workers.model_copy(update={"processes": cores() if processes is None else processes})
        pool = handler_pool([(handler, settings.of(ScorePageRules))], workers, unexposed_metrics())
        assert pool is not None  # noqa: S101 - there is at least one process
        self._pool = pool
        self.enough = 2 * pool.concurrency
        """So many pages under way keep all processes busy."""

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._pool.__aexit__(*error)

    async def score(self, page: CrawledPage | Mapping[str, Any]) -> Score | Refusal:
        """The score of a mapping with the fields of ``pages.crawled.v1``."""
        from streams.workers.handler_jobs import HandlerJob

        given = page if isinstance(page, CrawledPage) else _page(page)
        if isinstance(given, Refusal):
            return given
        answer: Answer | Dead = await self._pool.run(HandlerJob("score_page", given))
        return _scored(answer if isinstance(answer, Dead) else answer.of)


async def classify(
    results: Iterable[Mapping[str, Any]],
    *,
    query: str,
    requested_at: datetime | None = None,
    settings: Configuration = None,
) -> Classification | Refusal:
    """Which results of a search are the content itself, and which are only listings or navigation.

    Args:
        results: Mappings with ``url``, ``title`` and ``content``, and with ``html`` where it is known. The names of
            search interfaces (``link``, ``snippet``, ``body``) are understood, an unknown key is refused.
        query: What was searched for.
        requested_at: When; "today" in the query is this day. Now by default.
        settings: The configuration; the shipped one by default.
    """
    from schemas.queries import RankingCandidate
    from schemas.retrieval import RetrievalBatch, RetrievedContent

    given = _fields(results, "results", RetrievedContent, RankingCandidate)
    if isinstance(given, Refusal):
        return given
    fields = {"query": query, "retrieved_content": given, "requested_at": requested_at or datetime.now(UTC)}
    batch = _event(RetrievalBatch, _with_id("batch_id", fields))
    if isinstance(batch, Refusal):
        return batch
    return await asyncio.to_thread(_classify, batch, _configured(settings))


async def evaluate(
    results: Iterable[Mapping[str, Any]],
    *,
    query: str,
    requested_at: datetime | None = None,
    settings: Configuration = None,
) -> Evaluation | Refusal:
    """Whether the results of a search answer its query, and what to do next.

    The judge is the language model of the configuration, or the offline judge if it names none.

    Args:
        results: Mappings with ``url``, ``title`` and ``content``, and with ``html`` where it is known. The names of
            search interfaces (``link``, ``snippet``, ``body``) are understood, an unknown key is refused.
        query: What was searched for.
        requested_at: When; "today" in the query is this day. Now by default.
        settings: The configuration; the shipped one by default.
    """
    from handlers.evaluate_retrieval import EvaluateRetrievalRules
    from handlers.results.batch import dimension_reasons

    settings = _configured(settings)
    classification = await classify(results, query=query, requested_at=requested_at, settings=settings)
    if isinstance(classification, Refusal):
        return classification
    events = await _decide("evaluate_retrieval", classification.event, settings)
    if isinstance(events, Refusal):
        return events
    section = settings.of(EvaluateRetrievalRules).retrievalEvaluation
    reasons = dimension_reasons(events[0], section.dimensionThresholds)
    return Evaluation(events[0], classification, reasons)


async def snippet(
    html: str | bytes | None = None,
    *,
    url: str,
    query: str,
    title: str = "",
    text: str | None = None,
    settings: Configuration = None,
) -> Snippet | Refusal:
    """Whether a page is relevant to a query, and its passage for a prompt.

    Args:
        html: The page; bytes in any encoding.
        url: Its address.
        query: The question.
        title: Its title, if the page has none.
        text: The main text, if there is no HTML.
        settings: The configuration; the shipped one by default.
    """
    from schemas.relevance import RelevanceRequested

    page = page_bytes(html, None).utf8.decode("utf-8", "replace") if isinstance(html, bytes | bytearray) else html
    fields = {"query": query, "url": url, "title": title, "html": page, "content": text}
    source = _event(RelevanceRequested, _with_id("request_id", fields))
    if isinstance(source, Refusal):
        return source
    events = await _decide("judge_relevance", source, _configured(settings))
    if isinstance(events, Refusal):
        return events
    return Snippet(events[0], events[1] if len(events) > 1 else None)


async def claim(
    text: str,
    *,
    source: str = "",
    entailed_score: float | None = None,
    coverage_score: float | None = None,
    settings: Configuration = None,
) -> Claim | Refusal:
    """Whether a claim can be understood without its source.

    Args:
        text: One statement.
        source: The text around it in its source.
        entailed_score: How far the source entails the claim, 0 to 1, if that is known.
        coverage_score: How much of what matters in the source the claim covers, 0 to 1.
        settings: The configuration; the shipped one by default.
    """
    from schemas.claims import ExtractedClaim

    scores = {"entailed_score": entailed_score, "coverage_score": coverage_score}
    extracted = _event(ExtractedClaim, _with_id("claim_id", {"claim_text": text, "source_text": source} | scores))
    if isinstance(extracted, Refusal):
        return extracted
    events = await _decide("decontextualize_claim", extracted, _configured(settings))
    return events if isinstance(events, Refusal) else Claim(events[0])


async def rank(
    query: str, candidates: Iterable[Mapping[str, Any]], *, limit: int | None = None, settings: Configuration = None
) -> Ranking | Refusal:
    """Candidates of any retriever in the order of their relevance and trust; needs the extra ``rank``.

    Args:
        query: The question.
        candidates: Mappings with ``url``, ``title`` and ``content``, and with ``score``, ``date`` and ``cts_score``
            where they are known; names as in ``classify``.
        limit: Number of results.
        settings: The configuration; the shipped one by default.

    Raises:
        ModuleNotFoundError: numpy is missing; the message has the command that installs it.
    """
    from schemas.queries import RankingCandidate, RankingRequested
    from schemas.retrieval import RetrievedContent

    try:
        import numpy  # noqa: F401 - the handler would report its absence as its own bug
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(missing_extra(error), name=error.name) from None

    given = _fields(candidates, "candidates", RankingCandidate, RetrievedContent)
    if isinstance(given, Refusal):
        return given
    fields = {"query": query, "candidates": given, "limit": limit}
    request = _event(RankingRequested, _with_id("request_id", fields))
    if isinstance(request, Refusal):
        return request
    events = await _decide("rank_results", request, _configured(settings))
    return events if isinstance(events, Refusal) else Ranking(events[0])


def _score(page: CrawledPage, settings: Settings) -> Score | Refusal:
    from handlers.score_page import ScorePageRules, score_page

    return _scored(_run(score_page, page, settings.of(ScorePageRules)))


def _scored(outcome: Outcome | Ask) -> Score | Refusal:
    match outcome:
        case Emit():
            [page] = outcome.events
            assert isinstance(page, ScoredPage)  # noqa: S101 - the handler writes nothing else
            return Score(page)
        case Dead() | Retry():
            return Refusal.of(outcome)
        case _:
            raise AssertionError(f"score_page has decided on every page before: {outcome}")


def _classify(batch: Any, settings: Settings) -> Classification | Refusal:
    from handlers.classify_results import ClassifyResultsRules, classify_results

    outcome = _run(classify_results, batch, settings.of(ClassifyResultsRules))
    if not isinstance(outcome, Emit):
        return Refusal.of(outcome)
    classified: Any = outcome.events[0]
    needed: Any = outcome.events[1:]
    return Classification(classified, needed)


def _run(handler: Callable[[E, R], Outcome | Ask], event: E, rules: R) -> Emit | Dead | Retry:
    """The outcome of a handler that makes no request."""
    outcome = handler(event, rules)
    assert isinstance(outcome, Emit | Dead | Retry)  # noqa: S101 - it drops nothing
    return outcome


async def _decide(name: str, event: Event, settings: Settings) -> tuple[Any, ...] | Refusal:
    """The events of a handler that asks for a judge: a language model, or the offline judge."""
    from streams.pipeline.local import LocalHandler
    from streams.topology import handler_named

    structlog_to_logging()
    handler = handler_named(name)
    assert handler is not None  # noqa: S101 - it is declared
    # A judge's tool finds nothing in an empty index. That of the configuration belongs to a worker.
    async with LocalHandler.open(settings.whole, handler, isolate=False, searches_index=False) as local:
        outcome = await local.decide_in_thread(event)
    if isinstance(outcome, Drop):
        return Refusal(outcome.reason, ())
    return outcome.events if isinstance(outcome, Emit) else Refusal.of(outcome)


def _event(kind: type[E], fields: Mapping[str, Any]) -> E | Refusal:
    try:
        return kind.model_validate(dict(fields))
    except (ValidationError, TypeError, ValueError) as error:
        if isinstance(error, ValidationError):
            from streams.topology.codec import refusal

            return Refusal.of(refusal(error))
        return Refusal("invalid", (f"fields of {kind.__name__} are expected, not {type(fields).__name__}",))


def _body(html: str | bytes | None) -> dict[str, Any]:
    # Fields are read as from JSON, where bytes are base64, except that bytes stay bytes.
    return {"html_base64": html} if isinstance(html, bytes) else {"html": html}


def _page(given: Any) -> CrawledPage | Refusal:
    fields = _fields([given], "pages", CrawledPage)
    return fields if isinstance(fields, Refusal) else _event(CrawledPage, fields[0])


def _fields(items: Any, what: str, *kinds: type[Part]) -> list[Any] | Refusal:
    try:
        return fields_of(items, what, *kinds)
    except UnknownKeyError as error:
        return Refusal("invalid", (str(error),))


def _configured(settings: Configuration) -> Settings:
    """Raises TypeError for what is no configuration, and SettingsError for a wrong one."""
    if isinstance(settings, Settings):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(f"settings: assay.Settings or a mapping is expected, not {type(settings).__name__}")
    return Settings(**settings) if settings else _SHIPPED


def _with_id(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with an id that follows from them, so the same input has the same id."""
    try:
        text = json.dumps(fields, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, or a list that has itself as an item
        text = repr(fields)
    return fields | {name: derive_id("assay", text)}
