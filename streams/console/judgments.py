"""The screens ``claim``, ``relevance`` and ``query``: the text that a judge or a model read, and what was decided.

A query shows order and scores after every stage in columns, the filters, and the context for a model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
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
from streams.console.objects import Show, events_of, first_of, object_route, reply_of
from streams.console.words import Span
from streams.query.engine import Refusal
from streams.topology import handler_named
from streams.topology.codec import refusal
from streams.views.words import SubjectKind, reasons_of

_APART = 0.2  # scores that differ by more are a disagreement, also inside a band
_MOST_CHARACTERS = 6_000
_MOST_PARAGRAPHS = 40


async def _claim(context: Context, request: Request, claim_id: str, entries: list[Entry]) -> Response:
    events = await events_of(context, entries)
    claim = first_of(events, ExtractedClaim)
    handler = handler_named("decontextualize_claim")
    judged = [(entry, event) for entry, event in events if isinstance(event, ClaimEvaluated)]
    return context.render(
        request,
        "claim.html",
        claim_id=claim_id,
        claim=claim,
        spans=_place(claim),
        judgments=[
            await _judgment(context, entry, event) | {"other_rules": context.other_rules(handler, event.config_version)}
            for entry, event in judged
        ],
        disagreement=disagreement([event for _, event in judged]),
        entries=entries,
        expired=len(events) < len(entries),
    )


async def _judgment(context: Context, entry: Entry, event: ClaimEvaluated | RelevanceJudged) -> dict[str, Any]:
    return {
        "entry": entry,
        "event": event,
        "reasons": reasons_of(event),
        "reply": await reply_of(context, event.llm),
    }


def disagreement(judged: list[ClaimEvaluated]) -> str:
    """Where judges or versions of the rules differ; "" if they agree."""
    scores = [event.decontextualization_score for event in judged if event.decontextualization_score is not None]
    if scores and max(scores) - min(scores) > _APART:
        return f"The scores go from {min(scores):.2f} to {max(scores):.2f}."
    outcomes = {f"{event.status}, {'promotable' if event.promotable else 'not promotable'}" for event in judged}
    return f"The outcomes are: {'; '.join(sorted(outcomes))}." if len(outcomes) > 1 else ""


def _place(claim: ExtractedClaim | None) -> tuple[Span, ...]:
    """Where the source has the claim word by word."""
    at = claim.source_text.find(claim.claim_text) if claim else -1
    return (Span(at, at + len(claim.claim_text), "claim", "the claim"),) if claim and at >= 0 else ()


@dataclass(slots=True)
class Source:
    """A source of a request: its text as the judge got it, the opinions, the newest first, and its snippet."""

    url: str
    requested: RelevanceRequested | None = None
    judgments: list[dict[str, Any]] = field(default_factory=list)
    snippet: SnippetExtracted | None = None
    outcome: str = ""

    @property
    def text(self) -> str:
        """The beginning of the text that the judge and the snippet are from."""
        if self.requested is None:
            return ""
        paragraphs = "\n".join(part.text for part in (self.requested.paragraphs or ())[:_MOST_PARAGRAPHS])
        return (paragraphs or self.requested.content or self.requested.html or "")[:_MOST_CHARACTERS]

    @property
    def disagree(self) -> bool:
        return len({judgment["event"].outcome for judgment in self.judgments}) > 1


async def _relevance(context: Context, request: Request, request_id: str, entries: list[Entry]) -> Response:
    events = await events_of(context, entries)
    asked, done = first_of(events, SnippetsRequested), first_of(events, SnippetsCompleted)
    sources: dict[str, Source] = {}

    def source_of(url: str) -> Source:
        return sources.setdefault(url, Source(url))

    for entry, event in events:
        match event:  # the newest of a kind counts
            case RelevanceRequested():
                source = source_of(event.url)
                source.requested = source.requested or event
            case RelevanceJudged():
                source_of(event.url).judgments.append(await _judgment(context, entry, event))
            case SnippetExtracted():
                source = source_of(event.url)
                source.snippet = source.snippet or event
            case _:
                pass
    tried = done.sources if done else ()
    for result in tried:
        source_of(result.url).outcome = str(result.outcome)
    query = (asked and (asked.context or asked.query)) or (done and done.query) or ""
    query = query or next((source.requested.query for source in sources.values() if source.requested), "")
    order = {result.url: number for number, result in enumerate(tried)}
    judged = [judgment["event"].llm for source in sources.values() for judgment in source.judgments]
    return context.render(
        request,
        "relevance.html",
        request_id=request_id,
        query=query,
        sources=sorted(sources.values(), key=lambda source: order.get(source.url, len(order))),
        done=done,
        entries=entries,
        calls=[call for call in judged if call],
    )


_KINDS = {"[TRUST_TIER: ": "label", "<<": "fence", '"': "untrusted", "{": "untrusted"}
"""The kinds of the lines of a context, by their beginning."""


async def _listed(context: Context, request: Request, problem: str = "", query: str = "") -> Response:
    status = 422 if problem else 200
    return await render_list(context, "/query", request, "queries.html", status, problem=problem, query=query)


async def _show(context: Context, request: Request, _: str, entries: list[Entry]) -> Response:
    events = await events_of(context, entries)
    completed = first_of(events, RankingCompleted)
    if completed is None:
        gone = "Kafka has deleted the record with the results of this query."
        return context.missing(request, "The answer has expired", gone)
    return _shown(context, request, completed, first_of(events, RankingRequested))


async def _ask(context: Context, request: Request) -> Response:
    """Asks a query now; nothing is written, and a judge may cost money, so it is an action."""
    async with request.form() as form:
        query = str(form.get("query", "")).strip()
        tiers = [str(tier) for tier in form.getlist("tier")]
    try:
        asked = RankingRequested.model_validate(
            {"request_id": str(uuid4()), "query": query, "filters": {"tiers": tiers}}
        )
    except ValidationError as error:
        return await _listed(context, request, refusal(error).detail, query)
    if context.queries is None:
        return await _listed(context, request, "no application of this console answers queries", query)
    answer = await context.queries.answer(asked)
    if isinstance(answer, Refusal):
        return await _listed(context, request, answer.detail, query)
    return _shown(context, request, answer, asked)


def _shown(context: Context, request: Request, completed: RankingCompleted, asked: RankingRequested | None) -> Response:
    return context.render(
        request,
        "query.html",
        completed=completed,
        asked=asked,
        places=places_of(completed),
        filters=asked.filters.to_wire() if asked else {},
        context_parts=context_parts(completed.context),
        other_rules=context.other_rules(handler_named("rank_results"), completed.config_version),
    )


def places_of(completed: RankingCompleted) -> dict[str, dict[str, int]]:
    """By stage, in the order in which they scored: the place of each address by its score."""
    scores: dict[str, dict[str, float]] = {}
    for result in completed.results:
        for stage, score in result.stage_scores.items():
            if score is not None:
                scores.setdefault(stage, {})[result.url] = score
    return {
        stage: {url: number for number, url in enumerate(sorted(of, key=of.__getitem__, reverse=True), 1)}
        for stage, of in scores.items()
    }


def context_parts(context: str) -> list[tuple[str, str]]:
    """The lines of a context, each after its kind: a label of ours, a line around a block, or untrusted text."""
    return [
        (next((kind for prefix, kind in _KINDS.items() if line.startswith(prefix)), "plain"), line)
        for line in context.splitlines()
    ]


def _object_screen(title: str, path: str, key: str, about: str, kind: SubjectKind, show: Show) -> Screen:
    def routes(context: Context) -> list[Route]:
        return [Route(path, partial(render_list, context, path)), object_route(context, path, kind, show)]

    return Screen(title, path, key, about, routes)


def _query_routes(context: Context) -> list[Route]:
    return [
        Route("/query", partial(_listed, context)),
        Route("/query", context.guard.acting(partial(_ask, context)), methods=["POST"]),
        object_route(context, "/query", SubjectKind.QUERY, _show),
    ]


_OF_CLAIMS = "whether a claim is clear without its source"
_OF_SOURCES = "which source answers, and what it says"
SCREENS = (
    _object_screen("Claims", "/claim", "m", _OF_CLAIMS, SubjectKind.CLAIM, _claim),
    _object_screen("Relevance", "/relevance", "e", _OF_SOURCES, SubjectKind.REQUEST, _relevance),
    Screen("Queries", "/query", "q", "how results got their ranks, and what a model reads", _query_routes),
)
