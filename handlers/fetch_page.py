"""Fetches a target and, if it is a listing, its details; submits the details as a new attempt of the batch.

The handler emits each page as ``CrawledPage``, the details' text as ``RetrievalBatch``, items on other domains as
``ExtractionNeeded``, and always one ``ExtractionCompleted``. The source of a snippet request is emitted as
``RelevanceRequested``; if it did not come, the request goes on with its next source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from handlers.html.encoding import page_bytes
from handlers.html.links import canonical_url, page_id_of, same_domain
from handlers.html.read_page import TEXTLESS, Detail
from handlers.listings.listing import ItemLink, ListingSection, follow_listing
from handlers.relevance.progress import RelevanceGateSection, to_be_judged, without_source
from handlers.results.batch import ExtractionSection
from handlers.results.classifier import ClassifierRules
from schemas.event import Event, derive_id
from schemas.extraction import (
    ExtractionCompleted,
    ExtractionNeeded,
    ExtractionStatus,
    ExtractionTrigger,
    FetchedSource,
    ForwardedTarget,
    SkippedSource,
)
from schemas.needs import Ask, FetchPages
from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, PagesReply
from schemas.retrieval import ResultType, RetrievalBatch, RetrievedContent
from schemas.states import State


class FetchPageRules(ClassifierRules):
    """Everything that ``fetch_page`` decides by."""

    extraction: ExtractionSection
    listing: ListingSection
    relevance_gate: RelevanceGateSection


def fetch_page(event: ExtractionNeeded, rules: FetchPageRules) -> Outcome | Ask:
    """Asks for the target, within the hop limit and the budget of the batch (R-070, C-11).

    The fetch worker refuses invalid addresses (R-273). A source of a snippet request is fetched without a query, so
    that all queries share one fetch.
    """
    if not _is_source(event) and event.attempt > rules.extraction.hop_limit:
        return _failed(event, rules, FetchFailure.HOP_LIMIT)
    return Ask(FetchPages((event.target_url,), "" if _is_source(event) else event.query))


def read_pages(event: ExtractionNeeded, replies: tuple[PagesReply, ...], rules: FetchPageRules) -> Outcome | Ask:
    """Continues with the pages that came so far (R-067, R-070).

    Status is ``ok`` if all wanted pages came or were passed on to other domains, ``partial`` if some did. Output ids
    derive from the extraction's, so a redelivery writes the same.
    """
    if not event.follow or _is_source(event):
        return _answer(event, replies[0].pages, (), rules)
    first = replies[0].pages[0]
    if isinstance(first, FetchRefused):
        return _failed(event, rules, first.reason, [first])
    walk = _walk(event, replies, rules)
    # A listing may have no text beside its links.
    read = rules.pages.fetched(first, TEXTLESS if walk.links else ())
    is_wall = isinstance(read, FetchRefused) and read.reason in {state.value for state in State}
    if isinstance(read, FetchRefused) and len(replies) == 1 and (is_wall or not walk.links):
        return _failed(event, rules, read.reason, [read])
    if len(replies) == walk.pages_read and walk.next_page:
        return Ask(FetchPages((walk.next_page,), event.query))
    chosen = [link.url for link in walk.links[: _most_details(event, rules)]]
    near = [url for url in chosen if same_domain(url, first.final_url)]
    far = [url for url in chosen if not same_domain(url, first.final_url)]
    is_short = len(chosen) < _most_details(event, rules) and isinstance(read, Detail)
    own = [first] if is_short and _is_thing(first, rules) else []
    if not (chosen or own):
        return _failed(event, rules, FetchFailure.NO_ITEM_LINKS, walk.skipped)
    if near and len(replies) == walk.pages_read:
        return Ask(FetchPages(tuple(near), event.query))
    details = replies[-1].pages if near else ()
    listing = walk.pages - {_canonical(first.url), _canonical(first.final_url)} if own else walk.pages
    return _answer(event, (*own, *walk.skipped, *details), far, rules, listing)


def _is_thing(page: FetchedPage, rules: FetchPageRules) -> bool:
    """Whether a page that was fetched as a listing answers itself."""
    html = page_bytes(page.body, page.content_type).utf8.decode("utf-8", "replace")
    result = rules.classifier.classify(RetrievedContent(url=page.final_url, html=html))
    return result.result_type is ResultType.SPECIFIC_CONTENT


@dataclass(frozen=True, slots=True)
class _Walk:
    """A listing as far as it was read; ``pages`` are the canonical addresses of its pages."""

    links: Sequence[ItemLink]
    pages_read: int
    pages: Set[str]
    next_page: str | None
    skipped: Sequence[FetchRefused]


def _walk(event: ExtractionNeeded, replies: Sequence[PagesReply], rules: FetchPageRules) -> _Walk:
    """Reads the replies that are pages of the listing; a reply with details follows them."""
    links: dict[str, ItemLink] = {}
    skipped: list[FetchRefused] = []
    next_page: str | None = event.target_url
    seen: set[str] = set()
    pages_read = 0
    for page in (reply.pages[0] for reply in replies):
        if page.url != next_page:
            break
        pages_read += 1
        seen.add(_canonical(page.url))
        next_page = None
        if isinstance(page, FetchRefused):
            skipped.append(page)
            break
        seen.add(_canonical(page.final_url))
        body = page_bytes(page.body, page.content_type).utf8
        listing = follow_listing(
            body, page.final_url, event.query, event.max_details, rules.listing, rules.page_reading
        )
        for link in listing.links:
            links.setdefault(_canonical(link.url), link)
        onward = listing.next_page
        enough = len(links) >= _most_details(event, rules) or pages_read >= rules.extraction.max_listing_pages
        if onward and not enough and same_domain(onward, page.final_url) and _canonical(onward) not in seen:
            next_page = onward
    items = [link for canonical, link in links.items() if canonical not in seen]
    return _Walk(items, pages_read, seen, next_page, skipped)


def _most_details(event: ExtractionNeeded, rules: FetchPageRules) -> int:
    return min(event.max_details, rules.extraction.batch_budget)


def _canonical(url: str) -> str:
    return canonical_url(url) or url


def _answer(
    event: ExtractionNeeded,
    pages: Sequence[FetchedPage | FetchRefused],
    far: Sequence[str],
    rules: FetchPageRules,
    listing: Set[str] = frozenset(),
) -> Emit:
    """The events for the wanted pages. An item that leads back to its listing is gone."""
    read: list[Detail | FetchRefused] = []
    places: set[str] = set()
    for page in pages:
        if isinstance(page, FetchRefused):
            read.append(page)
        elif (place := _canonical(page.final_url)) in listing or place in places:
            failure = FetchFailure.GONE if place in listing else FetchFailure.DUPLICATE
            read.append(FetchRefused(page.url, failure))
        else:
            places.add(place)
            read.append(rules.pages.fetched(page))
    details = [page for page in read if isinstance(page, Detail)]
    skipped = [page for page in read if isinstance(page, FetchRefused)]
    events: list[Event] = [_crawled(detail, event) for detail in details]
    if _is_source(event):
        longest = rules.extraction.max_text_characters
        events += [to_be_judged(event, detail, rules.relevance_gate, longest) for detail in details]
    elif details:
        events.append(_batch(event, details, rules))
    forwarded = [_elsewhere(event, url) for url in far]
    events += forwarded
    if not (details or far):
        return _failed(event, rules, skipped[0].reason if skipped else FetchFailure.EMPTY, skipped)
    events.append(_completed(event, rules, details=details, skipped=skipped, forwarded=forwarded))
    return Emit(tuple(events))


def _failed(
    event: ExtractionNeeded, rules: FetchPageRules, failure: FetchFailure, skipped: Sequence[FetchRefused] = ()
) -> Emit:
    """The events if nothing came. A request that waits for this source continues without it (R-113)."""
    completed = _completed(event, rules, failure=failure, skipped=skipped)
    return Emit((completed, *without_source(event, failure, rules.config_version)))


def _crawled(detail: Detail, event: ExtractionNeeded) -> CrawledPage:
    page = detail.page
    return CrawledPage(
        url=page.url,
        html_base64=page.body,
        content_type=page.content_type or None,
        fetched_at=page.fetched_at,
        final_url=page.final_url,
        status=page.status,
        context=event.query,
    )


def _batch(event: ExtractionNeeded, details: Iterable[Detail], rules: FetchPageRules) -> RetrievalBatch:
    """The next attempt of the batch, with the details' text and the parent's score."""
    limit = rules.extraction.max_text_characters
    return RetrievalBatch(
        batch_id=_next_batch_of(event),
        query=event.query,
        attempt=event.attempt + 1,
        parent_batch_id=event.batch_id,
        previous_actionable_information=event.actionable_information,
        request_id=event.request_id,
        retrieved_content=tuple(
            RetrievedContent(
                url=detail.page.url,
                title=detail.content.title or None,
                # Breadcrumbs often alone name the topic of the listing.
                content="\n\n".join(filter(None, (detail.content.text, " › ".join(detail.content.trail))))[:limit],
                content_kind="full",
            )
            for detail in details
        ),
    )


def _next_batch_of(event: ExtractionNeeded) -> str:
    return derive_id("batch", event.extraction_id)


def _is_source(event: ExtractionNeeded) -> bool:
    """Whether the target is a source of a snippet request."""
    return event.reason is ExtractionTrigger.SNIPPET_REQUESTED


def _elsewhere(event: ExtractionNeeded, url: str) -> ExtractionNeeded:
    """The request for an item on another domain, which another worker fetches."""
    return event.model_copy(
        update={
            "extraction_id": derive_id("extraction", event.extraction_id, _canonical(url)),
            "target_url": url,
            "page_id": page_id_of(url),
            "follow": False,
            "max_details": 1,
        }
    )


def _completed(
    event: ExtractionNeeded,
    rules: FetchPageRules,
    failure: FetchFailure | None = None,
    details: Sequence[Detail] = (),
    skipped: Sequence[FetchRefused] = (),
    forwarded: Sequence[ExtractionNeeded] = (),
) -> ExtractionCompleted:
    status = ExtractionStatus.FAILED if failure else ExtractionStatus.PARTIAL if skipped else ExtractionStatus.OK
    return ExtractionCompleted(
        extraction_id=event.extraction_id,
        batch_id=event.batch_id,
        request_id=event.request_id,
        target_url=event.target_url,
        page_id=page_id_of(event.target_url),
        next_batch_id=_next_batch_of(event) if details and not _is_source(event) else None,
        forwarded=tuple(
            ForwardedTarget(url=item.target_url, page_id=item.page_id, extraction_id=item.extraction_id)
            for item in forwarded
        ),
        status=status,
        failure=failure,
        fetched=tuple(
            FetchedSource(url=detail.page.url, page_id=page_id_of(detail.page.url), title=detail.content.title)
            for detail in details
        ),
        skipped=tuple(
            SkippedSource(url=page.url, page_id=page_id_of(page.url), reason=page.reason) for page in skipped
        ),
        config_version=rules.config_version,
    )
