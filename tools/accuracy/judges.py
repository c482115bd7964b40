"""The judges that are measured: the offline judge and, if one is configured, a model through the gateway.

The input is a handler, an event and a judge; the result is the handler's outcome, and the judge's cost is added to its
bill. A model is asked as in production (limits, deadlines, journal), up to a number of cases and a cost.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from schemas.event import Event
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel, Need
from schemas.outcome import Outcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply, VectorsUnavailable
from schemas.rules import Rules
from streams.llm.tasks import answer_offline
from streams.pipeline.services import LiveServices
from streams.settings.model import Settings
from streams.workers.handler_jobs import converse
from tests.samples import the_handler
from tools.table import markdown

OFFLINE = "offline"
ModelAnswer = ModelReply | ModelFailed | ModelUnavailable


@dataclass(slots=True)
class Judge:
    """A judge: it is asked about so many cases of each set, and up to a cost; each answer has its milliseconds."""

    name: str
    answer: Callable[[AskModel], Awaitable[ModelAnswer]]
    most_cases: int | None = None
    most_usd: float | None = None
    answers: defaultdict[str, list[tuple[ModelAnswer, float]]] = field(default_factory=lambda: defaultdict(list))
    spent: float = 0.0

    async def ask(self, need: AskModel) -> ModelAnswer:
        """An answer, on the bill of its task."""
        began = perf_counter()
        if self.most_usd is not None and self.spent >= self.most_usd:
            reply: ModelAnswer = ModelUnavailable("the money that was allowed for measuring is spent")
        else:
            reply = await self.answer(need)
        self.spent += (0.0 if isinstance(reply, ModelUnavailable) else reply.call.cost_usd) or 0.0
        self.answers[need.task].append((reply, 1000 * (perf_counter() - began)))
        return reply


def offline_judge() -> Judge:
    """The offline judge; its latency is the time that it computes."""

    async def answer(need: AskModel) -> ModelAnswer:
        return answer_offline(need)

    return Judge(OFFLINE, answer)


@asynccontextmanager
async def judges(settings: Settings, most_cases: int, most_usd: float) -> AsyncIterator[list[Judge]]:
    """The offline judge, and the model that the settings name, if they name one."""
    if settings.llm.offline:
        yield [offline_judge()]
        return
    services = LiveServices(settings)

    async def answer(need: AskModel) -> ModelAnswer:
        reply = await services.answer(need, None)
        assert isinstance(reply, ModelReply | ModelFailed | ModelUnavailable)
        return reply

    try:
        yield [offline_judge(), Judge(settings.llm.model or "model", answer, most_cases, most_usd)]
    finally:
        await services.aclose()


async def decide(judge: Judge, handler: str, event: Event, rules: Rules) -> Outcome | Ask:
    """A handler's outcome with this judge. Vector searches find nothing: the index is not measured here."""

    async def reply(need: Need) -> Reply:
        return await judge.ask(need) if isinstance(need, AskModel) else VectorsUnavailable("no index while measuring")

    return await converse(the_handler(handler), rules, event, reply)


def p95(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def bill_table(every: Sequence[Judge]) -> str:
    """The cost of each judge's answers, by task; a cached answer took no time."""
    heads = ["task", "judge", "answers", "without one", "ms p50", "ms p95", "USD a thousand"]
    rows = sorted([task, judge.name, *_bill(answers)] for judge in every for task, answers in judge.answers.items())
    return markdown("### What answers take", heads, rows, texts=2)


def _bill(answers: Sequence[tuple[ModelAnswer, float]]) -> list[str]:
    called = [(reply.call, taken) for reply, taken in answers if not isinstance(reply, ModelUnavailable)]
    times = [taken for call, taken in called if not call.cached]
    prices = [call.cost_usd for call, _ in called if call.cost_usd is not None]
    right = sum(call.outcome is CallOutcome.OK for call, _ in called)
    usd = f"{1000 * sum(prices) / max(1, len(called)):.3f}" if len(prices) == len(called) else "unknown"
    spread = [f"{part(times):.2f}" if times else "–" for part in (median, p95)]
    return [str(len(called)), str(len(answers) - right), *spread, usd]
