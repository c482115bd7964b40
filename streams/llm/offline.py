"""The offline judge: answers in a model's place where none is configured, from the facts alone, and says who it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handlers.offline import judges
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.answers import Kept, reply_of

NAME = "offline"
Judge = Callable[[Mapping[str, Any]], str]
"""Facts in, a reply in the task's own protocol out."""

OFFLINE_JUDGES: Mapping[str, Judge] = {
    "analyst": judges.analyst,
    "critic": judges.critic,
    "decontextualize_claim": judges.judge_claim,
    "evaluate_retrieval": judges.judge_retrieval,
    "evaluate_search": judges.judge_search,
    "judge_relevance": judges.judge_relevance,
    "rank_results": judges.judge_ranking,
    "writer": judges.writer,
}
"""The judge of each task."""


def answer_offline(need: AskModel, judges: Mapping[str, Judge] = OFFLINE_JUDGES) -> ModelReply | ModelFailed:
    """What the offline judge says; a task that it does not know fails, like one that it stumbles over."""
    judge = judges.get(need.task)
    if judge is None:
        return _failed(need, f"the offline judge knows no task {need.task}")
    try:
        text = judge(need.facts)
    except Exception as error:
        # A bug in a heuristic must not look like an outage, after which intake would rest.
        return _failed(need, f"the offline judge failed: {type(error).__name__}: {error}"[:300])
    return reply_of(Kept(text=text, outcome=CallOutcome.OK), need, NAME, judged_by="offline")


def _failed(need: AskModel, detail: str) -> ModelFailed:
    call = LlmCall(
        judged_by="offline",
        model=NAME,
        prompt_version=need.prompt_version,
        temperature=need.temperature,
        outcome=CallOutcome.ERROR,
    )
    return ModelFailed(call, detail)
