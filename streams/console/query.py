"""The screen ``query``: order and scores after every stage in columns, the filters, and the context for a model."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.lists import render_list
from streams.console.objects import events_of, first_of, object_route
from streams.query.engine import Refusal
from streams.topology import handler_named
from streams.topology.codec import refusal
from streams.views.words import SubjectKind

_KINDS = {"[TRUST_TIER: ": "label", "<<": "fence", '"': "untrusted", "{": "untrusted"}
"""The kinds of the lines of a context, by their beginning."""


def routes(context: Context) -> list[Route]:
    return [
        Route("/query", partial(_listed, context)),
        Route("/query", context.guard.acting(partial(_ask, context)), methods=["POST"]),
        object_route(context, "/query", SubjectKind.QUERY, _show),
    ]


SCREEN = Screen("Queries", "/query", "q", "how results got their ranks, and what a model reads", routes)


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
