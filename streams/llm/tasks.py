"""Tables by task: the offline judges, which answer from the facts if no model is configured, and the reply readers.

A reply that no reader accepts was paid for. It is kept while its record may be retried, then the model is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

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
from streams.llm.replies import Completion

NAME = "offline"
Judge = Callable[[Mapping[str, Any]], str]  # returns a reply in the task's protocol for the facts

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
    """The offline judge's reply. An unknown task or an error of the judge is a failed reply."""
    answer, failure = StoredAnswer(text="", outcome=CallOutcome.ERROR), ""
    if (judge := judges.get(need.task)) is None:
        failure = f"the offline judge knows no task {need.task}"
    else:
        try:
            answer = StoredAnswer(text=judge(need.facts), outcome=CallOutcome.OK)
        except Exception as error:
            # A bug in a heuristic must not look like an outage, which would pause intake.
            failure = f"the offline judge failed: {type(error).__name__}: {error}"[:300]
    return reply_of(answer, need, NAME, "offline", failure=failure)


PROTOCOLS: Mapping[str, Callable[[AskModel, Completion], bool]] = {
    "analyst": lambda _, completion: read_findings(completion.text) is not None,
    "critic": lambda need, completion: read_verdicts(completion.text, len(need.facts["findings"])) is not None,
    "decontextualize_claim": lambda need, completion: (
        bool(need.tools and completion.tool_calls) or parse_score(completion.text) is not None
    ),
    "evaluate_retrieval": lambda need, completion: (
        read_retrieval_reply(completion.text, need.facts.get("sourcesShown", MAX_ITEMS)) is not None
    ),
    "evaluate_search": lambda _, completion: read_search_reply(completion.text) is not None,
    "judge_relevance": lambda _, completion: read_word(completion.text) is not RelevanceOutcome.UNPARSED,
    "rank_results": lambda need, completion: (
        read_ranking_reply(completion.text, len(need.facts.get("passages", range(MAX_ITEMS)))) is not None
    ),
    "writer": lambda _, completion: read_sentences(completion.text) is not None,
}
"""The protocol of each task."""
REPEATS = frozenset({"decontextualize_claim", "analyst", "critic", "writer"})
"""Tasks whose handler asks again itself after a reply outside its protocol, so the gateway does not."""
_CORRECTION = (
    "That reply is not in the required form. Reply once more to the same task, with nothing but the required form: "
    "no code fence, no comment before or after it."
)
_SHOWN_CHARACTERS = 4000


def corrected(need: AskModel, completion: Completion) -> AskModel:
    reply = Message("assistant", completion.text[:_SHOWN_CHARACTERS] or "(nothing)")
    return replace(need, messages=(*need.messages, reply, Message("user", _CORRECTION)))


def keeps_to_protocol(need: AskModel, completion: Completion) -> bool:
    """Whether the task's reader accepts the reply; a task without a protocol accepts every reply."""
    protocol = PROTOCOLS.get(need.task)
    return protocol is None or protocol(need, completion)
