"""The screen ``claim``: a claim beside its source, and each judgment of it with judge, tools, cost and disagreement."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from schemas.claims import ClaimEvaluated, ExtractedClaim
from streams.console.context import Context, Screen
from streams.console.entries import Entry
from streams.console.lists import render_list
from streams.console.objects import events_of, first_of, object_route, reply_of
from streams.console.words import Span
from streams.topology import handler_named
from streams.views.subjects import SubjectKind
from streams.views.words import reasons_of

_APART = 0.2
"""Scores that differ by more are a disagreement, also inside a band."""


def routes(context: Context) -> list[Route]:
    return [
        Route("/claim", partial(render_list, context, "/claim")),
        object_route(context, "/claim", SubjectKind.CLAIM, _show),
    ]


SCREEN = Screen("Claims", "/claim", "m", "whether a claim is clear without its source", routes)


async def _show(context: Context, request: Request, claim_id: str, entries: list[Entry]) -> Response:
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
            {
                "entry": entry,
                "event": event,
                "reasons": reasons_of(event),
                "reply": await reply_of(context, event.llm),
                "other_rules": context.other_rules(handler, event.config_version),
            }
            for entry, event in judged
        ],
        disagreement=disagreement([event for _, event in judged]),
        entries=entries,
        expired=len(events) < len(entries),
    )


def disagreement(judged: list[ClaimEvaluated]) -> str:
    """Where judges or versions of the rules differ; "" if they agree."""
    scores = [its.decontextualization_score for its in judged if its.decontextualization_score is not None]
    if scores and max(scores) - min(scores) > _APART:
        return f"The scores go from {min(scores):.2f} to {max(scores):.2f}."
    outcomes = {f"{its.status}, {'promotable' if its.promotable else 'not promotable'}" for its in judged}
    return f"The outcomes are: {'; '.join(sorted(outcomes))}." if len(outcomes) > 1 else ""


def _place(claim: ExtractedClaim | None) -> tuple[Span, ...]:
    """Where the source has the claim word by word."""
    at = claim.source_text.find(claim.claim_text) if claim else -1
    return (Span(at, at + len(claim.claim_text), "claim", "the claim"),) if claim and at >= 0 else ()
