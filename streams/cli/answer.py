"""``assay answer``: answers a question from ranked sources, with citations and trust labels."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text
from typer import Option

from handlers.prompts.untrusted import for_model, one_line
from handlers.reasoning.answer import Answer, AnswerOutcome, AnswerRules, Sentence, answer_query
from handlers.reasoning.context import ROLES, Source, order_sources, source_line
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply
from streams.cli.command import load_settings
from streams.cli.output import LABEL_STYLE, say_json, text_console
from streams.cli.query import Question, run_search, steps_shown
from streams.llm.tasks import answer_offline
from streams.pipeline.handler_runner import Services
from streams.pipeline.services import LiveServices
from streams.query.engine import Refusal
from streams.runtime.terminal import printable
from streams.settings.model import Settings
from streams.views.screen import Screen

_URL_CHARACTERS = 500
_NAME_A_MODEL = (
    "Name a model with ASSAY_LLM__BASE_URL (and ASSAY_LLM__API_KEY) and ASSAY_LLM__MODEL to have it written."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions(Question):
    limit: Annotated[int | None, Option(min=1, max=100, help="Sources; ranking.limit by default.")] = None
    candidates: Annotated[
        Path | None, Option(help="Answer from these instead of the index's: one a line, or an array.")
    ] = None
    no_model: Annotated[bool, Option("--no-model", help="Quote the sources instead of asking a model.")] = False


def answer(asked: AnswerOptions) -> int:
    """Such as: `assay answer "When was the dam closed?" --tier A`."""
    return run_answer(load_settings(asked.config), asked)


def print_answer(ranked: RankingCompleted, answer: Answer, *, offline: bool) -> None:
    console = text_console()
    if answer.outcome is AnswerOutcome.NO_SOURCES:
        todo = "Are filters such as --tier or --since too narrow? `assay doctor` shows what the index has."
        if ranked.results:
            todo = "`assay query` with the same question shows what is nearest."
        console.print(Text(f"No answer: nothing relevant was found.\n{todo}"))
        return
    if answer.outcome is AnswerOutcome.NOT_ANSWERED:
        count = len(answer.sources)
        read = f"{count} source{'s were' if count > 1 else ' was'} read"
        # A model that failed did not say that the sources have no answer.
        none = "none is quoted as an answer; see the errors below" if answer.left_out else "none has an answer"
        console.print(Text(f"No answer: {read} and {none}."))
        console.print(Text("`assay query` with the same question shows them."))
    for sentence in answer.sentences:
        console.print(Text(_cited(sentence)))
    if cited := cited_sources(answer):
        console.print()
        for source in cited:
            console.print(_source(source, answer, console))
    console.print()
    console.print(Text(_made_by(ranked, answer), style="dim"))
    if offline and answer.written_by == "offline":
        console.print(Text(_NAME_A_MODEL, style="dim"))
    for left_out in answer.left_out:
        console.print(Text(f"Left out: {left_out}.", style="dim"))


def document_of(ranked: RankingCompleted, answer: Answer) -> dict[str, Any]:
    cited = {source.number for source in cited_sources(answer)}
    return {
        "request_id": ranked.request_id,
        "query": ranked.query,
        "outcome": str(answer.outcome),
        "written_by": answer.written_by,
        "answer": "\n".join(map(_cited, answer.sentences)),
        "sentences": [
            {"text": item.text, "sources": list(item.sources), "cautioned": item.cautioned} for item in answer.sentences
        ],
        "sources": [
            {
                "number": source.number,
                "cited": source.number in cited,
                "trust_label": source.label,
                "line": source_line(source, answer.language),
                **for_model({"title": source.title, "url": source.url, "date": source.date}),
            }
            for source in answer.sources
        ],
        "left_out": for_model(answer.left_out),
        "cost_usd": _cost(_calls(ranked, answer)),
        "calls": [call.to_wire() for call in answer.calls],
        "stages": [str(stage) for stage in ranked.stages],
        "config_version": ranked.config_version,
    }


def cited_sources(answer: Answer) -> tuple[Source, ...]:
    """The sources that a sentence cites, the most trusted first."""
    cited = {number for sentence in answer.sentences for number in sentence.sources}
    return tuple(source for source in answer.sources if source.number in cited)


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} {''.join(f'[{number}]' for number in sentence.sources)}"


def _source(source: Source, answer: Answer, console: Screen) -> Text:
    """``[1] [TRUST_TIER: HIGH] 來源：中央社 — title — url``; further lines begin below its label."""
    line = source_line(source, answer.language)
    label, _, name = line.partition("] ")
    names: list[str] = for_model([source.title, one_line(source.url, _URL_CHARACTERS)])
    number = f"[{source.number}] "
    text = Text.assemble(
        (f"{label}]", LABEL_STYLE[source.label]), printable(f" {' — '.join([name, *filter(None, names)])}")
    )
    lines = text.wrap(console, max(1, console.width - len(number)))
    for item in lines:
        item.rstrip()
    return Text(number).append_text(Text("\n" + " " * len(number)).join(lines))


def _made_by(ranked: RankingCompleted, answer: Answer) -> str:
    calls = _calls(ranked, answer)
    if answer.written_by == "offline":
        who = "Made by the offline judge, not by a model: sentences quoted from the sources"
    else:
        models = sorted({call.model for call in answer.calls if call.judged_by == "model"})
        did = "Written by" if answer.written_by else "Asked"
        who = f"{did} {', '.join(models)}" if models else "No model was asked"
    cost = _cost(calls)
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    return f"{who}. {len(calls)} calls, {tokens} tokens, {'cost unknown' if cost is None else f'${cost:.4f}'}."


def _calls(ranked: RankingCompleted, answer: Answer) -> tuple[LlmCall, ...]:
    return answer.calls if ranked.llm is None else (ranked.llm, *answer.calls)


def _cost(calls: tuple[LlmCall, ...]) -> float | None:
    costs = [call.cost_usd for call in calls]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


_WEIGHT = 1.0
"""The weight of each role in the model's limits: the configuration has no weights for the roles of this command."""
_ENOUGH_FAILURES = 2  # failures of a model, that of the ranking included, after which this answer does not ask it again


def run_answer(settings: Settings, asked: Question) -> int:
    async def search(settings: Settings, request: RankingRequested) -> Refusal | None:
        services = LiveServices(settings, at_once=True)
        try:
            with steps_shown(asked.as_json or settings.llm.offline) as show_step:
                found = await _answered(settings, asked, request, services, show_step)
        finally:
            await services.aclose()
        if isinstance(found, Refusal):
            return found
        ranked, answer = found
        if asked.as_json:
            say_json(document_of(ranked, answer))
        else:
            print_answer(ranked, answer, offline=settings.llm.offline and not asked.no_model)
        return None

    return run_search(_with_weights(settings), asked, search)


async def _answered(
    settings: Settings, asked: Question, request: RankingRequested, services: LiveServices, tell: Callable[[str], None]
) -> tuple[RankingCompleted, Answer] | Refusal:
    from streams.query.access import open_queries

    tell("looking for sources")
    own = request.candidates is not None
    async with open_queries(settings, app=asked.app, own_candidates=own, services=services) as queries:
        # Others may have had the index before.
        began = time.monotonic()
        ranked = await queries.answer(request)
    if isinstance(ranked, Refusal):
        return ranked
    seconds = settings.query.answer_seconds - (time.monotonic() - began)
    answer = await converse(settings, ranked, services, tell, seconds)
    if isinstance(answer, ModelUnavailable):
        when = f"again in {math.ceil(answer.after_seconds)} s, or " if answer.after_seconds else "again later, or "
        todo = f"ask {when}with --no-model for the sources' own sentences; `assay doctor --models` looks at the model"
        return Refusal("unavailable", f"no model can be asked now: {answer.detail}; {todo}")
    return ranked, answer


async def converse(
    settings: Settings, ranked: RankingCompleted, services: Services, tell: Callable[[str], None], seconds: float
) -> Answer | ModelUnavailable:
    rules, sources = settings.rules(AnswerRules), order_sources(ranked.results)
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...] = ()
    failures = int(_is_failure(ranked.llm))
    ends, given_up = time.monotonic() + seconds, ""
    while isinstance(step := answer_query(ranked.query, sources, replies, rules, ranked.requested_at), Ask):
        need = step.need
        assert isinstance(need, AskModel)  # noqa: S101 - these rules ask for nothing else
        reply: Reply | None = None
        if not given_up:
            tell(f"asking the {need.task}")
            try:
                async with asyncio.timeout(max(0.0, ends - time.monotonic())):
                    reply = await services.answer(need, None)
            except TimeoutError:
                given_up = f"no model answered in time (query.answer_seconds, {settings.query.answer_seconds:g} s)"
        if reply is None:
            reply = answer_offline(need)
        assert isinstance(reply, ModelReply | ModelFailed | ModelUnavailable)  # noqa: S101 - what models answer
        if isinstance(reply, ModelFailed):
            failures += _is_failure(reply.call)
            if failures >= _ENOUGH_FAILURES:
                given_up = f"the model failed {failures} times and was not asked again"
        replies = (*replies, reply)
    if given_up and isinstance(step, Answer):
        return replace(step, left_out=(*step.left_out, given_up))
    return step


def _is_failure(call: LlmCall | None) -> bool:
    return call is not None and call.outcome in (CallOutcome.ERROR, CallOutcome.TIMEOUT, CallOutcome.RATE_LIMITED)


def _with_weights(settings: Settings) -> Settings:
    models = settings.models
    tasks = models.tasks | {role: models.task(role).model_copy(update={"weight": _WEIGHT}) for role in ROLES}
    return settings.model_copy(update={"models": models.model_copy(update={"tasks": tasks})})
