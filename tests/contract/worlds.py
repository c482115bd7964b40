"""Fake services for handlers: one in which every page can be fetched, and one in which none can."""

from collections.abc import Callable
from datetime import UTC, datetime

from schemas.event import Event
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel, IndexDocument, Need, SearchVectors
from schemas.outcome import Outcome
from schemas.replies import (
    FetchedPage,
    FetchFailure,
    FetchRefused,
    IndexReply,
    PagesReply,
    Reply,
    VectorHit,
    VectorsReply,
    VectorsUnavailable,
)
from schemas.rules import Rules
from streams.llm.journal import StoredAnswer, reply_of
from streams.llm.tasks import answer_offline
from streams.topology import Handler

World = Callable[[Need], Reply]

LISTING = """<!doctype html><html lang="en"><head><title>All events this week</title></head><body><nav>
<a href="/">Home</a> <a href="/about">About us</a></nav><main><h1>All events</h1><ul>
<li><article><h3><a href="/events/lantern-walk-4711">Lantern walk</a></h3><p>4 October 2025, 19:00</p></article></li>
<li><article><h3><a href="/events/organ-recital-4712">Organ recital</a></h3><p>5 October 2025, 20:00</p></article></li>
<li><article><h3><a href="/events/boat-race-4713">Boat race</a></h3><p>6 October 2025, 11:00</p></article></li>
</ul><a rel="next" href="?page=2">Next page</a></main></body></html>"""
DETAIL = """<!doctype html><html lang="en"><head><title>Lantern walk</title></head><body><main>
<h1>Lantern walk</h1><p>Date: October 4, 2025. Time: 7:00 PM. Venue: Mill Bridge, 3 Water Street. Price: $12. The walk
follows the river to the old mill, with songs on the way, and ends with soup for everybody who came.</p>
</main></body></html>"""


def generous(need: Need) -> Reply:
    """Every page comes; what looks like an item is a detail page, anything else a listing. Every point is written.

    The offline judge answers.
    """
    if isinstance(need, AskModel):
        return answer_offline(need)
    if isinstance(need, SearchVectors):
        return _documents(need) if need.collection == "documents" else _utterances(need)
    if isinstance(need, IndexDocument):
        return IndexReply(len(need.points), len(need.points), 0, False, "maker")
    return PagesReply(tuple(_page(url) for url in need.urls))


def barren(need: Need) -> Reply:
    """No page comes, each for another reason. The index had everything already. Models have nothing to say."""
    if isinstance(need, AskModel):
        return reply_of(StoredAnswer(text="", outcome=CallOutcome.EMPTY), need, "model")
    if isinstance(need, SearchVectors):
        return VectorsReply(())
    if isinstance(need, IndexDocument):
        return IndexReply(len(need.points), 0, 0, False, "maker")
    reasons = list(FetchFailure)
    return PagesReply(
        tuple(FetchRefused(url, reasons[position % len(reasons)]) for position, url in enumerate(need.urls))
    )


def broken(need: Need) -> Reply:
    """Every page comes, and none is one. The index has newer versions. Models talk nonsense."""
    if isinstance(need, AskModel):
        return reply_of(StoredAnswer(text='{"score": NaN} or 0.7 or 0.8', outcome=CallOutcome.OK), need, "model")
    if isinstance(need, SearchVectors):
        return VectorsUnavailable("down")
    if isinstance(need, IndexDocument):
        return IndexReply(len(need.points), 0, 0, True, "maker")
    return PagesReply(tuple(_page(url, b"\xff\xfe\x00<<<a href=\x80") for url in need.urls))


def decide(handler: Handler, event: Event, rules: Rules, services: World) -> Outcome:
    """Runs a handler as the shell does, and checks that it asks only where it said it would."""
    answer = handler.fn(event, rules)
    replies: list[Reply] = []
    while isinstance(answer, Ask):
        assert handler.read is not None, f"{handler.name} asks, and has nothing that reads replies"
        assert len(replies) < handler.rounds, f"{handler.name} asks more than {handler.rounds} times"
        replies.append(services(answer.need))
        answer = handler.read(event, tuple(replies), rules)
    return answer


def _utterances(need: SearchVectors) -> VectorsReply:
    return VectorsReply((VectorHit(0.9, {"source_id": "talk", "text": need.text}),))


def _documents(need: SearchVectors) -> VectorsReply:
    """Points in today's form, in the form before there were trust scores, and malformed ones."""
    new = {
        "document_id": "1",
        "url": "https://news.example/walk",
        "domain": "news.example",
        "title": need.text,
        "date": "2025-10-04",
        "authors": ["Ada Lind"],
        "site_name": "The News",
        "language": "en",
        "tier": "A",
        "cts_score": 83,
        "trust_label": "HIGH",
        "trust_features": {"source_tier": 2, "base_score": 25, "domain_tags": ["news"], "has_author": True},
        "kind": "chunk",
        "ordinal": 0,
        "text": f"{need.text}: the walk follows the river to the old mill.",
    }
    old = {"url": "https://old.example/mill", "title": "The old mill", "text": "Soup at the mill."}
    odd = {"url": 7, "title": None, "text": ["x"], "cts_score": "high", "trust_features": []}
    return VectorsReply((VectorHit(0.9, new), VectorHit(0.7, old), VectorHit(0.2, odd)))


def _page(url: str, body: bytes | None = None) -> FetchedPage:
    text = DETAIL if "-47" in url else LISTING
    return FetchedPage(
        url=url,
        final_url=url,
        status=200,
        content_type="text/html; charset=utf-8",
        body=text.encode() if body is None else body,
        fetched_at=datetime(2025, 10, 1, 12, tzinfo=UTC),
    )
