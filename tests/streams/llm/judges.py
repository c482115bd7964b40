"""Every handler that asks a model: an input for it, a valid reply, and its output in one word."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import cache

from handlers.classify_results import ClassifyResultsRules, classify_results
from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.event import Event
from schemas.needs import Ask, AskModel, SearchVectors
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, StageName
from schemas.relevance import RelevanceJudged, RelevanceRequested
from schemas.replies import Reply, VectorsReply
from schemas.retrieval import RetrievalBatch, RetrievalEvaluated
from schemas.rules import Rules
from schemas.search import SearchEvaluated
from streams.topology import Handler
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, instance, the_handler

BATCH = RetrievalBatch.model_validate_json((EXAMPLES / "retrieval.batches.v1" / "gaming_headset.json").read_bytes())
SOURCE = RelevanceRequested.model_validate_json((EXAMPLES / "relevance.requested.v1" / "shared_care.json").read_bytes())
CLAIM = ExtractedClaim.model_validate_json((EXAMPLES / "claims.extracted.v1" / "stands_alone.json").read_bytes())
QUERY = RankingRequested.model_validate_json((EXAMPLES / "ranking.requested.v1" / "steering.json").read_bytes())
GOOD: Mapping[str, str] = {
    "judge_relevance": "Relevant",
    "evaluate_retrieval": json.dumps(
        {"contextRecall": 0.5, "contextPrecision": 0.5, "sourceQuality": 0.5, "sources": []}
    ),
    "evaluate_search": json.dumps(
        {
            "satisfied": True,
            "quality_score": 0.52,
            "gaps": "A single shop.",
            "recommendation": "stop",
            "suggested_refinements": [],
        }
    ),
    "decontextualize_claim": "0.7",
    "rank_results": json.dumps({"scores": [{"number": 1, "score": 0.7}]}),
}
"""A reply within the protocol of each task."""
TASKS = tuple(GOOD)
WAITS = "waits"  # no decision: the input is tried again when a model is available


@cache
def rules_of(kind: type[Rules]) -> Rules:
    """The shipped rules, read once."""
    return shipped_rules(kind)


def judge_of(task: str) -> Handler:
    """The handler from the topology."""
    handler = the_handler(task)
    assert handler.asks_models
    return handler


def input_of(task: str, number: int = 0) -> Event:
    """An event that the handler asks a model about; another number is another question."""
    match task:
        case "judge_relevance":
            url = f"{SOURCE.url}?{number}"
            return SOURCE.model_copy(update={"request_id": f"request-{number}", "url": url, "sources": ()})
        case "decontextualize_claim":
            text = f"{CLAIM.claim_text} ({number})"
            return CLAIM.model_copy(update={"claim_id": f"claim-{number}", "claim_text": text})
        case "rank_results":
            return QUERY.model_copy(update={"request_id": f"query-{number}", "query": f"{QUERY.query} {number}"})
    wanted = f"{BATCH.query} {number}"
    batch = BATCH.model_copy(update={"batch_id": f"batch-{number}", "query": wanted, "goal": wanted})
    if task == "evaluate_search":
        return batch
    rules = instance(ClassifyResultsRules, rules_of(ClassifyResultsRules))
    classified = instance(Emit, classify_results(batch, rules))
    return classified.events[0]


async def judge(task: str, event: Event, answer: Callable[[AskModel], Awaitable[Reply]]) -> Outcome:
    """The handler's whole conversation; a search that it wants finds nothing."""
    handler = judge_of(task)
    rules = rules_of(handler.rules)
    said = handler.fn(event, rules)
    replies: tuple[Reply, ...] = ()
    while isinstance(said, Ask):
        assert handler.read is not None
        assert len(replies) < handler.rounds
        need = said.need
        assert isinstance(need, AskModel | SearchVectors)
        replies = (*replies, await answer(need) if isinstance(need, AskModel) else VectorsReply(()))
        said = handler.read(event, replies, rules)
    return said


def in_a_word(outcome: Outcome) -> str:
    """What became of an input, and of a score whose it is. An output that can't travel fails here."""
    if isinstance(outcome, Retry):
        assert outcome.reason is RetryReason.UNAVAILABLE
        return WAITS
    assert isinstance(outcome, Emit)
    for event in outcome.events:
        assert type(event).model_validate_json(event.to_json()) == event
    [word] = [word for event in outcome.events if (word := word_of(event))]
    return word


def word_of(event: Event) -> str:
    """The event in a word; "" for one that is no judgment."""
    match event:
        case RelevanceJudged():
            assert event.relevant == (event.outcome == "relevant")
            return str(event.outcome)
        case ClaimEvaluated():
            assert (event.decontextualization_score is None) == (event.status != "success")
            assert event.promotable <= (event.status == "success")
            return str(event.status)
        case SearchEvaluated():
            assert event.satisfied == (event.recommendation == "stop")
            return f"{event.outcome} {event.score_source}"
        case RetrievalEvaluated():
            return str(event.score_source)
        case RankingCompleted():
            [note] = [note for note in event.notes if note.stage is StageName.RANKING]
            assert len(event.results) == len(QUERY.candidates or ())
            return str(note.outcome)
    return ""
