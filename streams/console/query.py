"""The screen ``query``: order and scores after every stage in columns, the filters, and the context for a model."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.queries import RankingRequested
from schemas.ranking import RankedResult, RankingCompleted, RankingFeedback
from streams.console.context import Context, Screen
from streams.query.engine import Refusal
from streams.topology import RANKING_COMPLETED, handler_named
from streams.topology.codec import refusal
from streams.views.subjects import SubjectKind

_MOST_LISTED = 100


def routes(context: Context) -> list[Route]:
    """The list of queries, a query, and a query that is asked here."""
    its = _Queries(context)
    return [
        Route("/query", its.listed),
        Route("/query", context.guard.acting(its.ask), methods=["POST"]),
        Route("/query/{request_id:path}", its.query),
    ]


SCREEN = Screen("Queries", "/query", "q", "how results got their ranks, and what a model reads", routes)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a result after a stage, and its score there."""

    place: int | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """A result with its place after every stage."""

    result: RankedResult
    places: tuple[Place, ...]


class _Queries:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def listed(self, request: Request) -> Response:
        entries = self._context.store.newest(_MOST_LISTED, topic=RANKING_COMPLETED.name)
        return self._context.render(request, "queries.html", entries=entries, problem="", query="")

    async def query(self, request: Request) -> Response:
        wanted = request.path_params["request_id"]
        context = self._context
        entries = context.store.of_subject(wanted, SubjectKind.QUERY)
        if not entries:
            return context.missing(request, "No such query", f"No decision about the query {wanted} is kept.")
        reads = await context.records.events([entry.position for entry in entries])
        events = [read.event for entry in entries if (read := reads.get(entry.position)) is not None]
        completed = next((event for event in events if isinstance(event, RankingCompleted)), None)
        if completed is None:
            return context.missing(
                request, "The answer has expired", "Kafka has deleted the record with the results of this query."
            )
        asked = next((event for event in events if isinstance(event, RankingRequested)), None)
        feedback = [event for event in events if isinstance(event, RankingFeedback)]
        return self._shown(request, completed, asked, feedback)

    async def ask(self, request: Request) -> Response:
        """Asks a query now; nothing is written, and a judge may cost money, so it is an action."""
        async with request.form() as form:
            query = str(form.get("query", "")).strip()
            tiers = [str(tier) for tier in form.getlist("tier")]
        problem = ""
        try:
            asked = RankingRequested.model_validate(
                {"request_id": str(uuid4()), "query": query, "filters": {"tiers": tiers}}
            )
        except ValidationError as error:
            problem = refusal(error).detail
        else:
            if self._context.queries is None:
                problem = "no application of this console answers queries"
            elif isinstance(answer := await self._context.queries.answer(asked), Refusal):
                problem = answer.detail
            else:
                return self._shown(request, answer, asked, [])
        entries = self._context.store.newest(_MOST_LISTED, topic=RANKING_COMPLETED.name)
        return self._context.render(request, "queries.html", 422, entries=entries, problem=problem, query=query)

    def _shown(
        self,
        request: Request,
        completed: RankingCompleted,
        asked: RankingRequested | None,
        feedback: list[RankingFeedback],
    ) -> Response:
        stages = stages_of(completed)
        return self._context.render(
            request,
            "query.html",
            completed=completed,
            asked=asked,
            feedback=feedback,
            stages=stages,
            rows=rows_of(completed, stages),
            filters=_filters(asked),
            context_parts=context_parts(completed.context),
            other_rules=self._context.other_rules(handler_named("rank_results"), completed.config_version),
        )


def stages_of(completed: RankingCompleted) -> list[str]:
    """The names of the scores, in the order in which stages gave them."""
    return list(dict.fromkeys(name for result in completed.results for name in result.stage_scores))


def rows_of(completed: RankingCompleted, stages: list[str]) -> list[Row]:
    """The results in their final order, each with its place by the score of every stage."""
    places: dict[str, dict[str, int]] = {}
    for stage in stages:
        scored = [(score, its.url) for its in completed.results if (score := its.stage_scores.get(stage)) is not None]
        ordered = sorted(scored, key=lambda its: -its[0])
        places[stage] = {url: number for number, (_, url) in enumerate(ordered, 1)}
    return [
        Row(its, tuple(Place(places[stage].get(its.url), its.stage_scores.get(stage)) for stage in stages))
        for its in completed.results
    ]


@dataclass(frozen=True, slots=True)
class Part:
    """A line of a context: one of ours with a label, a line around a block, or a text of a stranger."""

    kind: str
    text: str


def context_parts(context: str) -> list[Part]:
    """The lines of a context by their kind."""
    parts = []
    for line in context.splitlines():
        kind = "label" if line.startswith("[TRUST_TIER: ") else "fence" if line.startswith("<<") else "plain"
        if kind == "plain" and line.startswith(('"', "{")):
            kind = "untrusted"
        parts.append(Part(kind, line))
    return parts


def _filters(asked: RankingRequested | None) -> list[tuple[str, str]]:
    if asked is None:
        return []
    wire = asked.filters.to_wire()
    return [
        (name, ", ".join(map(str, its)) if isinstance(its, list) else str(its)) for name, its in wire.items() if its
    ]
