"""The screen ``relevance``: the sources of a request, each with its text, the judge's opinion and its snippet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.relevance import (
    RelevanceJudged,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.lists import render_list
from streams.console.objects import events_of, first_of, object_route, reply_of
from streams.views.subjects import SubjectKind
from streams.views.words import reasons_of

_MOST_CHARACTERS = 6_000
_MOST_PARAGRAPHS = 40


class Judgment(NamedTuple):
    """A judge's opinion of a source, and its reply if the journal has it."""

    entry: Entry
    event: RelevanceJudged
    reasons: list[str]
    reply: str


@dataclass(slots=True)
class Source:
    """A source of a request: its text as the judge got it, the opinions, the newest first, and its snippet."""

    url: str
    requested: RelevanceRequested | None = None
    judgments: list[Judgment] = field(default_factory=list)
    snippet: SnippetExtracted | None = None
    outcome: str = ""

    @property
    def text(self) -> str:
        """The beginning of the text that the judge and the snippet are from."""
        if self.requested is None:
            return ""
        paragraphs = "\n".join(its.text for its in (self.requested.paragraphs or ())[:_MOST_PARAGRAPHS])
        return (paragraphs or self.requested.content or self.requested.html or "")[:_MOST_CHARACTERS]

    @property
    def disagree(self) -> bool:
        return len({its.event.outcome for its in self.judgments}) > 1


def routes(context: Context) -> list[Route]:
    return [
        Route("/relevance", partial(render_list, context, "/relevance")),
        object_route(context, "/relevance", SubjectKind.REQUEST, _show),
    ]


SCREEN = Screen("Relevance", "/relevance", "e", "which source answers, and what it says", routes)


async def _show(context: Context, request: Request, request_id: str, entries: list[Entry]) -> Response:
    events = await events_of(context, entries)
    asked, done = first_of(events, SnippetsRequested), first_of(events, SnippetsCompleted)
    sources: dict[str, Source] = {}
    for entry, event in events:
        if not isinstance(event, RelevanceRequested | RelevanceJudged | SnippetExtracted):
            continue
        source = sources.setdefault(event.url, Source(event.url))
        match event:  # the newest of a kind counts
            case RelevanceRequested():
                source.requested = source.requested or event
            case RelevanceJudged():
                reply = await reply_of(context, event.llm)
                source.judgments.append(Judgment(entry, event, reasons_of(event), reply))
            case SnippetExtracted():
                source.snippet = source.snippet or event
    tried = done.sources if done else ()
    for its in tried:
        sources.setdefault(its.url, Source(its.url)).outcome = str(its.outcome)
    query = (asked and (asked.context or asked.query)) or (done and done.query) or ""
    query = query or next((its.requested.query for its in sources.values() if its.requested), "")
    order = {its.url: number for number, its in enumerate(tried)}
    calls = [its.event.llm for source in sources.values() for its in source.judgments if its.event.llm]
    return context.render(
        request,
        "relevance.html",
        request_id=request_id,
        query=query,
        sources=sorted(sources.values(), key=lambda its: order.get(its.url, len(order))),
        done=done,
        entries=entries,
        calls=calls,
    )
