"""``assay answer``: an answer to a question, written from ranked sources, with citations that carry their trust labels.

The query goes the way of ``assay query``; analyst, critic and writer are then asked through the same gateway, under the
same budget and journal. Without a model the answer is made of the sources' own sentences, and says so.

Examples:
    assay answer "When was the dam closed?"
    assay answer 水庫何時關閉 --tier A --json
    assay answer "What does it cost?" --candidates pages.jsonl --no-model
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from handlers.reasoning.answer import Answer, AnswerRules, answer_query
from handlers.reasoning.context import ROLES, order_sources
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel, Need
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply
from streams.commands.answer_screen import print_answer, print_json
from streams.commands.query import QueryOptions, in_words, request_of, switched
from streams.commands.query_screen import printable
from streams.llm.offline import answer_offline
from streams.query.access import NoQueriesError, open_queries
from streams.query.engine import Refusal
from streams.settings import Settings
from streams.telemetry.logs import configure_logs
from streams.world import LiveWorld

_WEIGHT = 1.0
"""Of each role in this process: no fleet runs them, so they have none in its shares of the models' limits."""
_ENOUGH_FAILURES = 2
"""Of a model, the ranking's included, after which it is not asked again for the same answer."""


def run_answer(settings: Settings, options: QueryOptions) -> int:
    """Asks, answers and shows.

    Args:
        settings: The configuration.
        options: What is asked, and of whom.

    Returns:
        0, also where the sources hold no answer, which is said; 1 where nobody could answer; 2 for a wrong request.
    """
    level = settings.logs.level if "level" in settings.logs.model_fields_set else "error"
    configure_logs(level, settings.logs.format)
    request = request_of(options)
    if isinstance(request, str):
        return _tell(request, 2)
    settings = _with_weights(switched(settings, options))
    try:
        ranked, answer = asyncio.run(_answer(settings, request, options))
    except NoQueriesError as error:
        return _tell(str(error), 1)
    if isinstance(ranked, Refusal):
        return _tell(in_words(ranked), 2 if ranked.reason == "invalid" else 1)
    if isinstance(answer, ModelUnavailable):
        when = f"again in {math.ceil(answer.after_seconds)} s, or " if answer.after_seconds else "again later, or "
        todo = f"ask {when}with --no-model for the sources' own sentences; `assay doctor --models` looks at the model"
        return _tell(f"no model can be asked now: {answer.detail}; {todo}", 1)
    if options.as_json:
        print_json(ranked, answer)
    else:
        print_answer(ranked, answer, offline=settings.llm.offline and not options.no_model)
    return 0


async def _answer(
    settings: Settings, request: RankingRequested, options: QueryOptions
) -> tuple[RankingCompleted | Refusal, Any]:
    """The ranking, and the answer made of it."""
    world = LiveWorld(settings, at_once=True)
    try:
        with _telling(options.as_json or settings.llm.offline) as tell:
            tell("looking for sources")
            given = request.candidates is not None
            async with open_queries(settings, app=options.app, own_candidates=given, world=world) as queries:
                # Others may have had the index before.
                began = time.monotonic()
                ranked = await queries.answer(request)
            if isinstance(ranked, Refusal):
                return ranked, None
            seconds = settings.query.answer_seconds - (time.monotonic() - began)
            return ranked, await converse(settings, ranked, world, tell, seconds)
    finally:
        await world.aclose()


class World(Protocol):
    """Answers what is asked of models."""

    async def answer(self, need: Need, run: str | None) -> Reply:
        """The reply; expected trouble is part of it."""
        ...


class _Tell(Protocol):
    def __call__(self, what: str) -> None: ...


async def converse(
    settings: Settings, ranked: RankingCompleted, world: World, tell: _Tell, seconds: float
) -> Answer | ModelUnavailable:
    """Asks the roles one after another, until there is an answer or nobody can be asked.

    Where the time is up, or the model has failed twice, the offline judge speaks for those that are left: somebody
    waits, and sentences of the sources are more than nothing.
    """
    rules, sources = settings.rules(AnswerRules), order_sources(ranked.results)
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...] = ()
    failures = int(_is_failure(ranked.llm))
    ends, given_up = time.monotonic() + seconds, ""
    while isinstance(step := answer_query(ranked.query, sources, replies, rules), Ask):
        need = step.need
        if not isinstance(need, AskModel):
            raise TypeError(f"a model is to be asked for {type(need).__name__}")
        reply: Reply | None = None
        if not given_up:
            tell(f"asking the {need.task}")
            try:
                async with asyncio.timeout(max(0.0, ends - time.monotonic())):
                    reply = await world.answer(need, None)
            except TimeoutError:
                given_up = f"no model answered in time (query.answer_seconds, {settings.query.answer_seconds:g} s)"
        if reply is None:
            reply = answer_offline(need)
        if not isinstance(reply, ModelReply | ModelFailed | ModelUnavailable):
            raise TypeError(f"a question for a model was answered by {type(reply).__name__}")
        if isinstance(reply, ModelFailed):
            failures += _is_failure(reply.call)
            if failures >= _ENOUGH_FAILURES:
                given_up = f"the model failed {failures} times and was not asked again"
        replies = (*replies, reply)
    if given_up and isinstance(step, Answer):
        return replace(step, left_out=(*step.left_out, given_up))
    return step


def _is_failure(call: LlmCall | None) -> bool:
    """Whether a call has failed in a way that the next one is likely to fail in too."""
    return call is not None and call.outcome in (CallOutcome.ERROR, CallOutcome.TIMEOUT, CallOutcome.RATE_LIMITED)


def _with_weights(settings: Settings) -> Settings:
    """The settings with a part of the models' limits for the roles."""
    models = settings.models
    tasks = dict(models.tasks)
    for role in ROLES:
        tasks[role] = models.task(role).model_copy(update={"weight": _WEIGHT})
    return settings.model_copy(update={"models": models.model_copy(update={"tasks": tasks})})


@contextmanager
def _telling(quiet: bool) -> Iterator[_Tell]:
    """Tells what is being done: on a terminal in one line that changes, elsewhere in lines; not where it is quick."""
    if quiet:
        yield lambda what: None  # noqa: ARG005 - nobody wants to know
    elif not sys.stderr.isatty():
        yield lambda what: print(f"{what} …", file=sys.stderr)
    else:
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            yield lambda what: status.update(f"{what} …")


def _tell(problem: str, status: int) -> int:
    print(f"assay answer: {' '.join(printable(problem).split())}", file=sys.stderr)
    return status
