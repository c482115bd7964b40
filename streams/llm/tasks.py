"""The tasks of models: the offline judges, which answer from the facts without a model, and what readers accept.

A reply that no reader accepts was paid for. It is kept while its record may be retried, then the model is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from handlers.decontextualize_claim import parse_score
from handlers.evaluate_retrieval import read_retrieval_reply
from handlers.evaluate_search import read_search_reply
from handlers.judge_relevance import read_word
from handlers.offline import judges
from handlers.ranking.judge import read_ranking_reply
from handlers.reasoning.replies import read_findings, read_sentences, read_verdicts
from schemas.event import MAX_ITEMS
from schemas.llm import CallOutcome
from schemas.needs import AskModel, Message
from schemas.relevance import RelevanceOutcome
from schemas.replies import ModelFailed, ModelReply
from streams.llm.journal import StoredAnswer, reply_of
from streams.llm.replies import MAX_DETAIL, Completion

NAME = "offline"
Judge = Callable[[Mapping[str, Any]], str]  # returns a reply in the task's protocol for the facts


class Task(NamedTuple):
    """The offline judge of a task, and what its reader accepts."""

    judge: Judge
    accepts: Callable[[AskModel, Completion], bool]
    asks_again: bool = False
    """Whether its handler asks again itself after a reply outside its protocol, so the gateway does not."""


TASKS: Mapping[str, Task] = {
    "analyst": Task(judges.analyst, lambda _, reply: read_findings(reply.text) is not None, True),
    "critic": Task(
        judges.critic, lambda need, reply: read_verdicts(reply.text, len(need.facts["findings"])) is not None, True
    ),
    "decontextualize_claim": Task(
        judges.judge_claim,
        lambda need, reply: bool(need.tools and reply.tool_calls) or parse_score(reply.text) is not None,
        True,
    ),
    "evaluate_retrieval": Task(
        judges.judge_retrieval,
        lambda need, reply: read_retrieval_reply(reply.text, need.facts.get("sourcesShown", MAX_ITEMS)) is not None,
    ),
    "evaluate_search": Task(judges.judge_search, lambda _, reply: read_search_reply(reply.text) is not None),
    "judge_relevance": Task(
        judges.judge_relevance, lambda _, reply: read_word(reply.text) is not RelevanceOutcome.UNPARSED
    ),
    "rank_results": Task(
        judges.judge_ranking,
        lambda need, reply: (
            read_ranking_reply(reply.text, len(need.facts.get("passages", range(MAX_ITEMS)))) is not None
        ),
    ),
    "writer": Task(judges.writer, lambda _, reply: read_sentences(reply.text) is not None, True),
}
_CORRECTION = (
    "That reply is not in the required form. Reply once more to the same task, with nothing but the required form: "
    "no code fence, no comment before or after it."
)
_SHOWN_CHARACTERS = 4000


def answer_offline(need: AskModel) -> ModelReply | ModelFailed:
    """The offline judge's reply. An unknown task or an error of the judge is a failed reply."""
    answer, failure = StoredAnswer(text="", outcome=CallOutcome.ERROR), ""
    if (task := TASKS.get(need.task)) is None:
        failure = f"the offline judge knows no task {need.task}"
    else:
        try:
            answer = StoredAnswer(text=task.judge(need.facts), outcome=CallOutcome.OK)
        except Exception as error:
            # A bug in a heuristic must not look like an outage, which would pause intake.
            failure = f"the offline judge failed: {type(error).__name__}: {error}"[:MAX_DETAIL]
    return reply_of(answer, need, NAME, "offline", failure=failure)


def corrected(need: AskModel, completion: Completion) -> AskModel:
    reply = Message("assistant", completion.text[:_SHOWN_CHARACTERS] or "(nothing)")
    return replace(need, messages=(*need.messages, reply, Message("user", _CORRECTION)))


def keeps_to_protocol(need: AskModel, completion: Completion) -> bool:
    """Whether the task's reader accepts the reply; an unknown task accepts every reply."""
    return need.task not in TASKS or TASKS[need.task].accepts(need, completion)
