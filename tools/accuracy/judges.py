"""The judges that are measured: the offline judge and, if one is configured, a model through the gateway.

The input is a handler, an event and a judge; the result is the handler's outcome, and the judge's cost is added to its
bill. A model is asked as in production (limits, deadlines, journal), up to a number of cases and a cost.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Outcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply, VectorsUnavailable
from streams.llm.tasks import answer_offline
from streams.pipeline.services import LiveServices
from streams.settings.model import Settings

OFFLINE = "offline"
MOST_ROUNDS = 12
T = TypeVar("T")
ModelAnswer = ModelReply | ModelFailed | ModelUnavailable


@dataclass(slots=True)
class Bill:
    """What answers took.

    Attributes:
        milliseconds: Of each answer that was not kept from before.
        usd: None where an answer has no price.
    """

    answers: int = 0
    failed: int = 0
    unavailable: int = 0
    kept: int = 0
    milliseconds: list[float] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0

    def add(self, call: LlmCall, milliseconds: float) -> None:
        """Books an answer."""
        self.answers += 1
        self.failed += call.outcome is not CallOutcome.OK
        self.kept += call.cached
        if not call.cached:
            self.milliseconds.append(milliseconds)
        self.prompt_tokens += call.prompt_tokens
        self.completion_tokens += call.completion_tokens
        self.usd = None if self.usd is None or call.cost_usd is None else self.usd + call.cost_usd

    def cells(self) -> list[str]:
        """Answers, failures, p50 and p95 of latency, cost of a thousand answers."""
        times = sorted(self.milliseconds)
        p95 = times[min(len(times) - 1, int(len(times) * 0.95))] if times else None
        cost = "unknown" if self.usd is None else f"{1000 * self.usd / max(1, self.answers):.3f}"
        spent = [f"{median(times):.2f}" if times else "–", f"{p95:.2f}" if p95 is not None else "–"]
        return [str(self.answers), str(self.failed + self.unavailable), *spent, cost]


BILL_HEADINGS = ("answers", "without one", "ms p50", "ms p95", "USD a thousand")


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

    @property
    def spent(self) -> float:
        """USD of all answers whose price is known."""
        return sum(bill.usd or 0.0 for bill in self.bills.values())

    async def ask(self, need: AskModel) -> ModelAnswer:
        """An answer, on the bill of its task."""
        bill = self.bills.setdefault(need.task, Bill())
        if self.most_usd is not None and self.spent >= self.most_usd:
            bill.unavailable += 1
            return ModelUnavailable("the money that was allowed for measuring is spent")
        began = perf_counter()
        reply = await self.answer(need)
        if isinstance(reply, ModelUnavailable):
            bill.unavailable += 1
        else:
            bill.add(reply.call, 1000 * (perf_counter() - began))
        return reply

    def some(self, cases: Sequence[T]) -> list[T]:
        """As many cases as are to be judged: all, or a sample that is the same every time."""
        if self.most_cases is None or len(cases) <= self.most_cases:
            return list(cases)
        return random.Random(0).sample(list(cases), self.most_cases)


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


def bill_table(some: Sequence[Judge]) -> str:
    """The cost of each judge's answers, by task."""
    lines = ["### What answers take", "", f"| task | judge | {' | '.join(BILL_HEADINGS)} |"]
    lines.append("|---|---|" + "---:|" * len(BILL_HEADINGS))
    tasks = sorted({task for judge in some for task in judge.bills})
    for task in tasks:
        for judge in some:
            if bill := judge.bills.get(task):
                lines.append(f"| {task} | {judge.name} | {' | '.join(bill.cells())} |")
    return "\n".join(lines) + "\n"
