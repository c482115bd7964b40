"""A handler whose answers the test sets, and services that never have to answer."""

from collections.abc import Callable
from functools import cache
from typing import Any

from schemas.event import Run
from schemas.needs import Ask, Need, SearchVectors
from schemas.outcome import Emit, Outcome
from schemas.queries import RankingRequested
from schemas.ranking import (
    Intent,
    IntentNote,
    RankedResult,
    RankingCompleted,
    ReasoningMetadata,
    StageName,
    StageNote,
    StageOutcome,
)
from schemas.replies import Reply, VectorsReply
from schemas.rules import Rules
from streams.settings.model import QuerySettings, Settings, load_settings
from streams.topology import RANKING_COMPLETED, RANKING_REQUESTED, Handler
from tests.streams.doubles import handler_of


def settings_with(**query: Any) -> Settings:
    """The shipped configuration with other bounds of queries; read once, for it is long."""
    return _shipped().model_copy(update={"query": QuerySettings(**query)})


@cache
def _shipped() -> Settings:
    return load_settings()


class Answers:
    """A world that answers every need in one way, and counts them."""

    def __init__(self, answer: Callable[[Need], Reply] | None = None) -> None:
        self.needs: list[Need] = []
        self._answer = answer or (lambda _: VectorsReply(()))

    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002 - the signature is the world's
        self.needs.append(need)
        return self._answer(need)


def ranked(rank: int, **differs: Any) -> RankedResult:
    """A result."""
    label = differs.get("trust_label", "HIGH")
    whole = {
        "rank": rank,
        "url": f"https://example.org/{rank}",
        "title": f"Page {rank}",
        "score": 1.0 / rank,
        "stage_scores": {},
        "trust_label": label,
        "reasons": ["title has all the words"],
        "passage": "What it says.",
        "_reasoning_metadata": ReasoningMetadata(trust_label=label, label_source="score"),
        **differs,
    }
    return RankedResult.model_validate(whole)


def completed(request: RankingRequested, *results: RankedResult, **differs: Any) -> RankingCompleted:
    """What a query came to."""
    whole = {
        "request_id": request.request_id,
        "query": request.query,
        "requested_at": request.requested_at,
        "intent": IntentNote(intent=Intent.BALANCED, reason="nothing says otherwise"),
        "stages": (StageName.RETRIEVAL, StageName.BM25),
        "notes": (
            StageNote(stage=StageName.RETRIEVAL, outcome=StageOutcome.RAN, reason="5 points of 3 documents"),
            StageNote(stage=StageName.BM25, outcome=StageOutcome.RAN),
        ),
        "results": results,
        "nothing_relevant": False,
        "context": "",
        "config_version": "0",
        **differs,
    }
    return RankingCompleted.model_validate(whole)


def ranker(decide: Callable[[RankingRequested], Outcome | Ask] | None = None) -> Handler:
    """A handler that decides so; by default it searches and answers with two results."""

    def asks(request: RankingRequested, _: Rules) -> Outcome | Ask:
        return decide(request) if decide else Ask(SearchVectors("documents", request.query, 5))

    def reads(request: RankingRequested, _: tuple[Reply, ...], __: Rules) -> Outcome:
        return Emit((completed(request, ranked(1), ranked(2, trust_label="LOW")),))

    return handler_of(asks, reads, 1, (RANKING_COMPLETED,), RANKING_REQUESTED)
