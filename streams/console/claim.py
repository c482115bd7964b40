"""The screen ``claim``: a claim beside its source, and each judgment of it with judge, tools, cost and disagreement."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.claims import ClaimEvaluated, ExtractedClaim
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.relevance import reply_of
from streams.console.words import Span
from streams.topology import CLAIMS_EVALUATED, handler_named
from streams.views.subjects import SubjectKind

_MOST_LISTED = 100
_APART = 0.2
"""Scores that differ by more are a disagreement, also inside a band."""


def routes(context: Context) -> list[Route]:
    """The list of claims, and a claim."""
    its = _Claims(context)
    return [Route("/claim", its.listed), Route("/claim/{claim_id:path}", its.claim)]


SCREEN = Screen("Claims", "/claim", "m", "whether a claim is clear without its source", routes)


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judgment of a claim, and the judge's reply if the journal has it."""

    entry: Entry
    event: ClaimEvaluated
    reply: str
    other_rules: str


class _Claims:
    def __init__(self, context: Context) -> None:
        self._context = context

    async def listed(self, request: Request) -> Response:
        entries = self._context.store.newest(_MOST_LISTED, topic=CLAIMS_EVALUATED.name)
        return self._context.render(request, "list.html", title="Claims", heading="Claims", entries=entries)

    async def claim(self, request: Request) -> Response:
        wanted = request.path_params["claim_id"]
        context = self._context
        entries = context.store.of_subject(wanted, SubjectKind.CLAIM)
        if not entries:
            return context.missing(request, "No such claim", f"No decision about the claim {wanted} is kept.")
        reads = await context.records.events([entry.position for entry in entries])
        events = [(entry, read.event) for entry in entries if (read := reads.get(entry.position)) is not None]
        claim = next((event for _, event in events if isinstance(event, ExtractedClaim)), None)
        handler = handler_named("decontextualize_claim")
        judgments = []
        for entry, event in events:
            if isinstance(event, ClaimEvaluated):
                other_rules = context.other_rules(handler, event.config_version)
                judgments.append(Judgment(entry, event, await reply_of(context, event.llm), other_rules))
        return context.render(
            request,
            "claim.html",
            claim_id=wanted,
            claim=claim,
            spans=_place(claim),
            judgments=judgments,
            disagreement=disagreement([its.event for its in judgments]),
            entries=entries,
            expired=len(events) < len(entries),
        )


def disagreement(judged: list[ClaimEvaluated]) -> str:
    """Where judges or versions of the rules differ; "" if they agree."""
    scores = [its.decontextualization_score for its in judged if its.decontextualization_score is not None]
    if len({str(its.status) for its in judged}) > 1:
        return "Some judgments have a score and others have none."
    if scores and max(scores) - min(scores) > _APART:
        return f"The scores go from {min(scores):.2f} to {max(scores):.2f}."
    if len({its.promotable for its in judged}) > 1:
        return "The claim is promotable by some judgments and not by others."
    return ""


def _place(claim: ExtractedClaim | None) -> tuple[Span, ...]:
    """Where the source has the claim word by word."""
    at = claim.source_text.find(claim.claim_text) if claim else -1
    return (Span(at, at + len(claim.claim_text), "claim", "the claim"),) if claim and at >= 0 else ()
