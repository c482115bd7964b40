"""``python -m tools.bench.models``: several processes under one limit, and answers at their deadline under every fault.

The model server counts the requests in any 60 seconds, and how much of the limit was used while there were questions.
Latencies are heavy-tailed. No Kafka is needed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic

from streams.llm.gateway import Gateway
from streams.settings.model import load_settings
from streams.telemetry.setup import configure_logs
from tests.streams.llm.asking_process import Plan, replies_of, start
from tests.streams.llm.model_server import FAULTS, heavy_tailed, model_server, says
from tests.streams.llm.questions import gateway_at, question
from tests.streams.llm.test_limits import most_in_a_minute

MEDIAN_SECONDS, SIGMA = 0.5, 1.0
"""Half of the answers come within half a second, one in a hundred takes more than 5 s."""
ASKERS = 40
"""In each process: more than its rate times the mean latency."""
MANY = 10**6
WALL_SECONDS = 3.0
"""That an answer of the gate may take (R-119)."""


@dataclass(frozen=True)
class Shared:
    """How several processes used one limit.

    Attributes:
        limit: Requests a minute.
        processes: How many there were.
        requests: How many the server has seen.
        most_in_a_minute: In any 60 seconds.
        used: Share of the limit, from the first minute's end on.
    """

    limit: int
    processes: int
    requests: int
    most_in_a_minute: int
    used: float


@dataclass(frozen=True)
class Walls:
    """Wall time of answers at a deadline.

    Attributes:
        answers: How many there were.
        deadline_seconds: Of the calls for one of them, as shipped.
        longest_seconds: Of them, in the worst of the faults.
        fault: Which one that was.
        late: How many took longer than the gate may.
    """

    answers: int
    deadline_seconds: float
    longest_seconds: float
    fault: str
    late: int


async def share_a_limit(limit: int, processes: int, seconds: float) -> Shared:
    """Processes that always have something to ask, each with its part of a topic's partitions."""
    async with model_server(heavy_tailed(MEDIAN_SECONDS, SIGMA, says("0.7"))) as server:
        plans = [
            Plan(
                server.base_url,
                number * MANY,
                MANY,
                ASKERS,
                requests_per_minute=limit,
                partitions=(1, processes),
                seconds=seconds,
            )
            for number in range(processes)
        ]
        running = [await start(plan) for plan in plans]
        await asyncio.gather(*(replies_of(process) for process in running))
        moments = [asked.at for asked in server.asked]
    # The processes don't end together, so the last seconds don't count.
    begin, end = moments[0] + 60, moments[0] + seconds - 5
    used = sum(begin <= moment < end for moment in moments) / (end - begin) * 60 / limit
    return Shared(limit, processes, len(moments), most_in_a_minute(moments), round(used, 4))


async def at_the_deadline(askers: int) -> Walls:
    """Every fault, for many questions at once, as the gate asks them."""
    gate = load_settings().models.task("judge_relevance")
    longest, worst, answers, late = 0.0, "", 0, 0
    for fault, behaviour in FAULTS.items():
        async with (
            model_server(behaviour) as server,
            gateway_at(server.base_url, gate, breaker_failures=MANY, breaker_window=MANY) as gateway,
        ):

            async def wall(number: int, gateway: Gateway = gateway) -> float:
                began = monotonic()
                await gateway.answer(question(str(number)))
                return monotonic() - began

            walls = await asyncio.gather(*(wall(number) for number in range(askers)))
        answers += len(walls)
        late += sum(wall > WALL_SECONDS for wall in walls)
        if max(walls) > longest:
            longest, worst = max(walls), fault
    return Walls(answers, gate.deadline_seconds, round(longest, 3), worst, late)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.models", description=__doc__)
    parser.add_argument("--limit", type=int, default=600, help="requests a minute")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=185.0, help="of asking; more than 65")
    parser.add_argument("--askers", type=int, default=20, help="questions at once under each fault")
    parser.add_argument("--json", type=Path, help="write the figures to a file")
    options = parser.parse_args()
    configure_logs("error", "console")
    walls = asyncio.run(at_the_deadline(options.askers))
    print(
        f"deadline {walls.deadline_seconds:g} s: {walls.answers} answers under {len(FAULTS)} faults, the longest"
        f" {walls.longest_seconds:.3f} s ({walls.fault}), {walls.late} over {WALL_SECONDS:g} s"
    )
    shared = asyncio.run(share_a_limit(options.limit, options.processes, options.seconds))
    print(
        f"limit {shared.limit}/min, {shared.processes} processes: {shared.requests} requests, at most"
        f" {shared.most_in_a_minute} in any 60 s, {shared.used:.1%} used"
    )
    if options.json:
        results = {"at the deadline": asdict(walls), "shared limit": asdict(shared)}
        options.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
