"""A process that asks: ``python -m tests.streams.llm.asking_process`` with a ``Plan`` as JSON on standard input.

It prints the number of replies of each kind when it is done.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from streams.llm.limits import Shares
from streams.llm.settings import ModelLimits, TaskPolicy
from tests.streams.llm.questions import FREE, MODEL, TASK, gateway_at, question

TOPIC = "topic"


@dataclass(frozen=True)
class Plan:
    """What is asked.

    Attributes:
        base_url: Of the server.
        first: Number of the first question.
        count: How many there are.
        askers: How many are asked at once.
        cache_path: The journal.
        requests_per_minute: Of the fleet; 0 for no limit that hinders.
        partitions: Of the topic, held here and in all.
        seconds: After which no more is asked; 0 for never.
    """

    base_url: str
    first: int
    count: int
    askers: int
    cache_path: str = ""
    requests_per_minute: int = 0
    partitions: tuple[int, int] = (1, 1)
    seconds: float = 0.0


async def start(plan: Plan) -> Process:
    """A process that asks as planned."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.streams.llm.asking_process", stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(plan)).encode())
    process.stdin.close()
    return process


async def replies_of(process: Process) -> dict[str, int]:
    """What it says at its end."""
    out, _ = await process.communicate()
    return dict(json.loads(out))


async def ask(plan: Plan) -> Counter[str]:
    """Asks everything; the kinds of the replies."""
    limits = FREE
    if plan.requests_per_minute:
        limits = ModelLimits(**{**FREE.model_dump(), "requests_per_minute": plan.requests_per_minute})
    shares = Shares({TASK: MODEL}, {})
    shares.expect(TASK, [TOPIC])
    shares.on_assignment(TASK, TOPIC, *plan.partitions)
    replies: Counter[str] = Counter()
    numbers = iter(range(plan.first, plan.first + plan.count))
    async with gateway_at(
        plan.base_url,
        TaskPolicy(deadline_seconds=60, patience_seconds=200),
        limits,
        shares=shares,
        cache_path=Path(plan.cache_path) if plan.cache_path else None,
    ) as gateway:

        async def asker(numbers: Iterator[int]) -> None:
            for number in numbers:
                replies[type(await gateway.answer(question(f"question {number}"))).__name__] += 1

        tasks = [asyncio.create_task(asker(numbers)) for _ in range(plan.askers)]
        await asyncio.wait(tasks, timeout=plan.seconds or None)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return replies


if __name__ == "__main__":
    given = json.loads(sys.stdin.read())
    print(json.dumps(asyncio.run(ask(Plan(**{**given, "partitions": tuple(given["partitions"])})))))
