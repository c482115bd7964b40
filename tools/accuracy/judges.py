"""The judges that are measured: the offline judge and, if one is configured, a model through the gateway.

The input is a handler, an event and a judge; the result is the handler's outcome, and the judge's cost is added to its
bill. A model is asked as in production (limits, deadlines, journal), up to a number of cases and a cost.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel
from schemas.outcome import Outcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply, VectorsUnavailable
from streams.llm.tasks import answer_offline
from streams.pipeline.services import LiveServices
from streams.settings.model import Settings
from tools.table import markdown

OFFLINE = "offline"
MOST_ROUNDS = 12
ModelAnswer = ModelReply | ModelFailed | ModelUnavailable


@dataclass(slots=True)
class Bill:
    """What answers took.

    Attributes:
        milliseconds: Of each answer that was not kept from before.
        usd: None where an answer has no price.
    """

    answers: int = 0
    without_answer: int = 0
    milliseconds: list[float] = field(default_factory=list)
    usd: float | None = 0.0

    def add(self, reply: ModelAnswer, milliseconds: float) -> None:
        """Books an answer."""
        if isinstance(reply, ModelUnavailable):
            self.without_answer += 1
            return
        call = reply.call
        self.answers += 1
        self.without_answer += call.outcome is not CallOutcome.OK
        if not call.cached:
            self.milliseconds.append(milliseconds)
        self.usd = None if self.usd is None or call.cost_usd is None else self.usd + call.cost_usd

    def cells(self) -> list[object]:
        """Answers, failures, p50 and p95 of latency, cost of a thousand answers."""
        times = [f"{part(self.milliseconds):.2f}" if self.milliseconds else "–" for part in (median, p95)]
        cost = "unknown" if self.usd is None else f"{1000 * self.usd / max(1, self.answers):.3f}"
        return [self.answers, self.without_answer, *times, cost]


@dataclass(slots=True)
class Judge:
    """A judge that answers questions.

    Attributes:
        name: ``offline``, or the model's.
        most_cases: Of each set, at most; None for all.
        most_usd: Beyond which nothing is asked.
        bills: By task.
    """

    name: str
    answer: Callable[[AskModel], Awaitable[ModelAnswer]]
    most_cases: int | None = None
    most_usd: float | None = None
    bills: dict[str, Bill] = field(default_factory=dict)

    async def ask(self, need: AskModel) -> ModelAnswer:
        """An answer, on the bill of its task."""
        spent = sum(bill.usd or 0.0 for bill in self.bills.values())
        began = perf_counter()
        if self.most_usd is not None and spent >= self.most_usd:
            reply: ModelAnswer = ModelUnavailable("the money that was allowed for measuring is spent")
        else:
            reply = await self.answer(need)
        self.bills.setdefault(need.task, Bill()).add(reply, 1000 * (perf_counter() - began))
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


async def decide(
    judge: Judge,
    ask: Callable[[Any, Any], Outcome | Ask],
    read: Callable[[Any, Any, Any], Outcome | Ask],
    event: object,
    rules: object,
) -> Outcome:
    """A handler's outcome with this judge. Vector searches find nothing: the index is not measured here."""
    step = ask(event, rules)
    replies: list[Reply] = []
    for _ in range(MOST_ROUNDS):
        if not isinstance(step, Ask):
            return step
        need = step.need
        replies.append(
            await judge.ask(need) if isinstance(need, AskModel) else VectorsUnavailable("no index while measuring")
        )
        step = read(event, tuple(replies), rules)
    assert not isinstance(step, Ask), "a handler that asks without end"
    return step


def p95(values: Sequence[float]) -> float:
    """The value that 95 of a hundred do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def bill_table(every: Sequence[Judge]) -> str:
    """The cost of each judge's answers, by task."""
    heads = ["task", "judge", "answers", "without one", "ms p50", "ms p95", "USD a thousand"]
    bills = [(task, judge.name, bill) for judge in every for task, bill in judge.bills.items()]
    rows = ([task, name, *bill.cells()] for task, name, bill in sorted(bills, key=lambda row: row[:2]))
    return markdown("### What answers take", heads, rows, texts=2)
