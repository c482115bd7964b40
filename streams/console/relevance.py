"""The screen ``relevance``: the sources of a request, each with its text, the judge's opinion and its snippet."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.llm import LlmCall
from schemas.relevance import (
    RelevanceJudged,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.llm.journal import JournalError
from streams.views.subjects import SubjectKind

_MOST_LISTED = 100
_MOST_CHARACTERS = 6_000
_MOST_PARAGRAPHS = 40


def routes(context: Context) -> list[Route]:
    """The list of requests, and a request."""
    its = _Requests(context)
    return [Route("/relevance", its.listed), Route("/relevance/{request_id:path}", its.request)]


SCREEN = Screen("Relevance", "/relevance", "e", "which source answers, and what it says", routes)


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judge's opinion of a source, and its reply if the journal has it."""

    entry: Entry
    event: RelevanceJudged
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
        if self.requested.paragraphs:
            return "\n".join(its.text for its in self.requested.paragraphs[:_MOST_PARAGRAPHS])[:_MOST_CHARACTERS]
        return (self.requested.content or self.requested.html or "")[:_MOST_CHARACTERS]

    @property
    def disagree(self) -> bool:
        """Whether judges had different opinions."""
        return len({its.event.outcome for its in self.judgments}) > 1


class _Requests:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def listed(self, request: Request) -> Response:
        entries = self._context.store.newest(_MOST_LISTED, kind=SubjectKind.REQUEST)
        seen: dict[str, Entry] = {}
        for entry in entries:
            seen.setdefault(entry.subject, entry)
        shown = list(seen.values())
        return self._context.render(
            request, "list.html", title="Relevance", heading="Requests for sources", entries=shown
        )

    async def request(self, request: Request) -> Response:
        wanted = request.path_params["request_id"]
        context = self._context
        entries = context.store.of_subject(wanted, SubjectKind.REQUEST)
        if not entries:
            return context.missing(request, "No such request", f"No decision about the request {wanted} is kept.")
        reads = await context.records.events([entry.position for entry in entries])
        sources: dict[str, Source] = {}
        asked: SnippetsRequested | None = None
        done: SnippetsCompleted | None = None
        calls: list[LlmCall] = []
        for entry in entries:
            event = read.event if (read := reads.get(entry.position)) is not None else None
            match event:
                case SnippetsRequested():
                    asked = asked or event
                case SnippetsCompleted():
                    done = done or event
                case RelevanceRequested():
                    its = sources.setdefault(event.url, Source(event.url))
                    its.requested = its.requested or event
                case RelevanceJudged():
                    reply = await reply_of(context, event.llm)
                    its = sources.setdefault(event.url, Source(event.url))
                    its.judgments.append(Judgment(entry, event, reply))
                    calls += [event.llm] if event.llm else []
                case SnippetExtracted():
                    its = sources.setdefault(event.url, Source(event.url))
                    its.snippet = its.snippet or event
                case _:
                    pass
        for tried in done.sources if done else ():
            sources.setdefault(tried.url, Source(tried.url)).outcome = str(tried.outcome)
        query = (asked and (asked.context or asked.query)) or (done and done.query) or ""
        query = query or next((its.requested.query for its in sources.values() if its.requested), "")
        order = {tried.url: number for number, tried in enumerate(done.sources if done else ())}
        return context.render(
            request,
            "relevance.html",
            request_id=wanted,
            query=query,
            sources=sorted(sources.values(), key=lambda its: order.get(its.url, len(order))),
            done=done,
            entries=entries,
            cost=sum(call.cost_usd or 0.0 for call in calls if not call.cached),
            cached=sum(call.cached for call in calls),
            calls=len(calls),
        )


async def reply_of(context: Context, call: LlmCall | None) -> str:
    """A judge's reply from the journal, or why it is not there; "" if no reply is stored."""
    if call is None or not call.call_id:
        return ""
    try:
        return (await context.replies(call.call_id)).text
    except JournalError as error:
        return f"not available: {error}"
