"""``make soak``: hours at full rate with faults; reports what grows in a worker that lives through all of it.

Two workers stay for the whole run, and others come and go. Each episode feeds as fast as the workers take the records,
does harm to one worker, the network or a broker, and compares all inputs with all outputs at its end. A sample of an
episode is the median of its measurements; the line through the samples says whether something grows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from streams.telemetry.setup import configure_logs
from tests.brokers import COORDINATION, Brokers
from tests.faults.chain import SESSION_SECONDS
from tools.bench.processes import memory_of
from tools.faults.cluster import PATIENCE_SECONDS, Cluster, cluster, run_with_cleanup
from tools.faults.drift import Drift, drift_of
from tools.faults.worker_process import Worker

_STEADY = 2
_EPISODE_SECONDS = 45.0
_SAMPLE_SECONDS = 3.0
_BACKLOG = 400
"""Records that are fed and did not come out yet."""
_WARM_UP_SHARE = 0.2
"""Of the episodes: caches and heaps of a new process grow at first."""
_BOUNDS = {"memory MiB": 20.0, "memory with children MiB": 40.0, "descriptors": 10.0, "threads": 5.0}
"""The largest growth in an hour."""
_LATENCY_BOUND = 0.2
"""The largest growth of latencies in an hour, as a share of the mean."""
Harm = Callable[[Cluster, random.Random], Awaitable[None]]


async def killed(cluster: Cluster, chance: random.Random) -> None:
    """A worker is killed."""
    cluster.staying[-1].send(signal.SIGKILL)


async def dismissed(cluster: Cluster, chance: random.Random) -> None:
    """A worker is asked to end."""
    await cluster.dismiss(cluster.staying[-1])


async def frozen(cluster: Cluster, chance: random.Random) -> None:
    """A worker freezes for longer than its session."""
    victim = cluster.staying[-1]
    victim.send(signal.SIGSTOP)
    await asyncio.sleep(SESSION_SECONDS + 2)
    victim.send(signal.SIGCONT)


async def child_killed(cluster: Cluster, chance: random.Random) -> None:
    """A process below a worker is killed, also below those that stay."""
    if below := cluster.below(chance.choice(cluster.staying)):
        with suppress(ProcessLookupError):
            os.kill(chance.choice(below), signal.SIGKILL)


async def resets(cluster: Cluster, chance: random.Random) -> None:
    """All connections of a worker are reset, three times."""
    for _ in range(3):
        cluster.brokers.reset()
        await asyncio.sleep(chance.uniform(0.2, 1))


async def slow_network(cluster: Cluster, chance: random.Random) -> None:
    """A worker's connections are slow."""
    cluster.brokers.turn("slow")
    await asyncio.sleep(5)
    cluster.brokers.turn("fair")


async def broker_killed(cluster: Cluster, chance: random.Random) -> None:
    """A broker is killed and restarted."""
    victim = chance.choice(cluster.brokers.numbers)
    await cluster.brokers.kill(victim)
    await cluster.brokers.restart(victim)


async def leaders_moved(cluster: Cluster, chance: random.Random) -> None:
    """All partitions get other leaders, and all groups and transactions other coordinators."""
    await cluster.brokers.move_leaders([*cluster.topics, *COORDINATION])


async def broker_cut_off(cluster: Cluster, chance: random.Random) -> None:
    """A broker is cut off from the others for longer than its session."""
    cluster.brokers.cut_off(chance.choice(cluster.brokers.numbers))
    await asyncio.sleep(8)
    cluster.brokers.join()


HARM: dict[str, Harm] = {
    "killed": killed,
    "dismissed": dismissed,
    "frozen": frozen,
    "child killed": child_killed,
    "resets": resets,
    "slow network": slow_network,
    "broker killed": broker_killed,
}
HARM_TO_THREE = HARM | {"leaders moved": leaders_moved, "broker cut off": broker_cut_off}


def main() -> int:
    """Returns 0 where nothing was lost, doubled or out of order, and nothing grows."""
    parser = argparse.ArgumentParser(prog="make soak", description="A long run at full rate with faults.")
    parser.add_argument("--minutes", type=float, default=45)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path(".assay/soak.json"), help="Where the report goes as JSON.")
    options = parser.parse_args()
    if not options.minutes > 0:
        parser.error("--minutes is more than 0")
    try:
        # Not to find out after hours that the report can't be written.
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.touch()
    except OSError as error:
        parser.error(f"--out: {error}")
    configure_logs("error", "console")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    report = run_with_cleanup(soak(options.minutes * 60, options.brokers, seed))
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if report["well"] else 1


async def soak(seconds: float, brokers_count: int, seed: int) -> dict[str, object]:
    """The whole run: its report."""
    print(f"{brokers_count} brokers, seed {seed}, {seconds / 60:g} minutes", flush=True)
    chance = random.Random(seed)
    episodes: list[dict[str, float]] = []
    harms: list[str] = []
    wrong: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="assay-soak-") as name:
        async with Brokers(brokers_count) as brokers, cluster(brokers, Path(name), "soak") as made:
            steady = [await made.start() for _ in range(_STEADY)]
            began = time.monotonic()
            telling = asyncio.create_task(_tell(made, seconds))
            while time.monotonic() - began < seconds and not wrong:
                kind = chance.choice(sorted(HARM if brokers_count == 1 else HARM_TO_THREE))
                sample = await _episode(made, steady, kind, chance)
                findings = made.found or made.ledger.check()
                lasting = [worker.number for worker in steady if not worker.alive]
                wrong = {what: count for what, count in findings.counts.items() if count}
                wrong |= {f"worker {number} ended": 1 for number in lasting} | ({} if sample else {"incomplete": 1})
                episodes.append({"hours": (time.monotonic() - began) / 3600, **sample})
                harms.append(kind)
                made.settle()
                shown = "  ".join(f"{what} {value:.4g}" for what, value in sample.items())
                print(f"episode {len(episodes):3}  {kind:14}  {shown}{f'  WRONG {wrong}' if wrong else ''}", flush=True)
            telling.cancel()
            fed = made.fed
            complaints = list(made.complaints)
    drifts = _drifts(episodes)
    _print_table(drifts)
    well = not wrong and not complaints and not any(drift.grows for drift in drifts.values())
    print(f"{fed} records fed, wrong: {wrong or 'nothing'}; {'all is well' if well else f'NOT WELL {complaints}'}")
    return {
        "brokers": brokers_count,
        "seed": seed,
        "minutes": round(seconds / 60, 1),
        "fed": fed,
        "wrong": wrong,
        "complaints": complaints,
        "faults": {kind: harms.count(kind) for kind in sorted(set(harms))},
        "drift": {
            what: {
                "mean": round(drift.mean, 4),
                "slope_per_hour": round(drift.slope, 4),
                "error": round(drift.error, 4) if drift.error < 1e9 else None,
                "bound_per_hour": round(drift.bound, 4),
                "verdict": drift.verdict,
            }
            for what, drift in drifts.items()
        },
        "episodes": episodes,
        "well": well,
    }


async def _tell(made: Cluster, seconds: float) -> None:
    """Prints a line each minute until it is cancelled."""
    for minute in count(1):
        await asyncio.sleep(60)
        ledger = made.ledger
        waiting = len(ledger.fed) - len(ledger.arrived) - len(ledger.dead)
        fed = f"{made.fed + len(ledger.fed)} records fed, {max(waiting, 0)} of them not out yet"
        workers = f"{len(made.staying)} workers, {len(made.complaints)} complaints"
        print(f"minute {minute} of {seconds / 60:g}: {fed}, {workers}", flush=True)


async def _episode(made: Cluster, steady: list[Worker], kind: str, chance: random.Random) -> dict[str, float]:
    """Feeds for a while, with one fault; the sample, empty where not every input has an output."""
    made.bury()
    if len(made.staying) == _STEADY:
        await made.start(through_proxy="all")
    made.latencies.clear()
    began, before = time.monotonic(), made.fed
    feeding = asyncio.create_task(made.pump(chance, _EPISODE_SECONDS, _BACKLOG))
    measuring = asyncio.create_task(_measure(made, steady))
    await asyncio.sleep(chance.uniform(0.1, 0.5) * _EPISODE_SECONDS)
    await HARM_TO_THREE[kind](made, chance)
    await feeding
    await made.brokers.mend()
    complete = await made.comes_out(PATIENCE_SECONDS)
    seconds = time.monotonic() - began
    measuring.cancel()
    with suppress(asyncio.CancelledError):
        await measuring
    await made.expect_no_orphans()
    await made.read_on(0.5)
    if not complete or len(made.latencies) < 2:
        return {}
    rate = (made.fed + len(made.ledger.fed) - before) / seconds
    cuts = quantiles(made.latencies, n=20)
    measured = {what: median(values) for what, values in made.measured.items() if values}
    made.measured.clear()
    return {"records a second": rate, "latency p50 s": cuts[9], "latency p95 s": cuts[18], **measured}


async def _measure(made: Cluster, steady: list[Worker]) -> None:
    """Measures the workers that stay, until it is cancelled."""
    while True:
        for worker in steady:
            pid = worker.process.pid
            with suppress(FileNotFoundError, ProcessLookupError):
                own = memory_of(pid).rss
                # Pages that children share with their template count for each of them.
                total = own + sum(memory_of(child).rss for child in made.below(worker))
                made.measured["memory MiB"].append(own)
                made.measured["memory with children MiB"].append(total)
                made.measured["descriptors"].append(len(os.listdir(f"/proc/{pid}/fd")))
                made.measured["threads"].append(len(os.listdir(f"/proc/{pid}/task")))
        await asyncio.sleep(_SAMPLE_SECONDS)


def _drifts(episodes: list[dict[str, float]]) -> dict[str, Drift]:
    warm = [episode for episode in episodes[int(len(episodes) * _WARM_UP_SHARE) :] if len(episode) > 1]
    drifts = {}
    for what in (*_BOUNDS, "latency p50 s", "latency p95 s"):
        there = [(episode["hours"], episode[what]) for episode in warm if what in episode]
        if there:
            hours, values = zip(*there, strict=True)
            bound = _BOUNDS.get(what, _LATENCY_BOUND * sum(values) / len(values))
            drifts[what] = drift_of(hours, values, bound)
    return drifts


def _print_table(drifts: dict[str, Drift]) -> None:
    print(f"{'':26}{'mean':>10}{'slope/h':>10}{'± error':>10}{'bound/h':>10}")
    for what, drift in drifts.items():
        print(f"{what:26}{drift.mean:10.3g}{drift.slope:10.3g}{drift.error:10.3g}{drift.bound:10.3g}  {drift.verdict}")


if __name__ == "__main__":
    sys.exit(main())
