"""``make test-faults``: rounds of faults on a real Kafka, then the seeded bugs that the checker must find.

Every round feeds numbered records, causes its fault, waits until all outputs are written, and compares all inputs with
all outputs. The seed of a run and the number of a round decide the fault and its details; the exact moments depend on
the machine.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from streams.telemetry.setup import configure_logs
from tests.brokers import Brokers, may_mount
from tests.faults.bugs import BUGS
from tests.faults.ledger import Findings
from tools.faults.broker_rounds import FAULTS_OF_THREE
from tools.faults.cluster import PATIENCE_SECONDS, Cluster, cluster
from tools.faults.rounds import FAULTS, SITUATIONS

EVERY_FAULT = FAULTS | FAULTS_OF_THREE
_TRIES = 3
"""Of a fault that was not reached, and of a bug's situation that did not come about."""
_IN_SYNC_SECONDS = 90.0
"""For so long replicas may take to be in sync after a fault."""


class RoundResult(NamedTuple):
    """Whether a round's fault happened, whether every input had an output in time, and what the checker found."""

    number: int
    fault: str
    reached: bool
    complete: bool
    fed: int
    seconds: float
    findings: dict[str, int]

    @property
    def clean(self) -> bool:
        return self.complete and not any(self.findings.values())


def fault_of(options: argparse.Namespace, number: int) -> str:
    """The fault of a round: every kind as often as every other, in an order that the seed decides."""
    if options.only is not None:
        return str(options.only)
    kinds = sorted(FAULTS if options.brokers == 1 else EVERY_FAULT)
    if options.brokers == 3 and not may_mount():
        kinds.remove("disk full")
    turn, place = divmod(number - 1, len(kinds))
    return random.Random(f"{options.seed}/turn {turn}").sample(kinds, len(kinds))[place]


def main() -> int:
    """Returns 0 where nothing was lost, doubled or out of order, every fault was done, and every bug was found."""
    parser = argparse.ArgumentParser(prog="make test-faults", description="Faults on a real Kafka.")
    parser.add_argument("--rounds", type=int, default=30, help="The number of the last round.")
    parser.add_argument("--first", type=int, default=1, help="The number of the first round.")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=sorted(EVERY_FAULT), help="One kind of fault.")
    parser.add_argument("--bugs", nargs="*", choices=SITUATIONS, help="Some seeded bugs; all by default.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    here = [name for name in SITUATIONS if options.brokers == 3 or "rounds" in BUGS[name].where]
    configure_logs("error", "console")
    # Its reader and feeder find brokers away all the time.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    # With --json the standard output has the summary alone.
    with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        try:
            summary = asyncio.run(run(options, here if options.bugs is None else options.bugs))
        except (KeyboardInterrupt, asyncio.CancelledError):
            sys.exit("interrupted")
    if options.json:
        print(json.dumps(summary))
    return 0 if summary["well"] else 1


async def run(options: argparse.Namespace, bugs: list[str]) -> dict[str, Any]:
    """The summary. SIGTERM ends it as Ctrl-C does, so that no worker, broker or mounted disk is left."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    again = f"--brokers {options.brokers} --rounds {options.rounds} --seed {options.seed}"
    print(again, flush=True)
    results: list[RoundResult] = []
    complaints: list[str] = []
    found: dict[str, bool] = {}
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as name:
        folder = Path(name)
        async with Brokers(options.brokers) as brokers:
            if options.first <= options.rounds:
                async with cluster(brokers, folder, "rounds") as made:
                    late = await do_rounds(made, options, results)
                    complaints = [*late, *made.complaints]
            for bug in bugs:
                found[bug] = await find(brokers, folder, bug, options.seed)
    findings: Counter[str] = Counter()
    for result in results:
        findings.update(result.findings)
    done = len(results) >= options.rounds - options.first + 1 and all(one.clean and one.reached for one in results)
    summary = {
        "rounds": len(results),
        "fed": sum(result.fed for result in results),
        **findings,
        "incomplete": sum(not result.complete for result in results),
        "faults": dict(Counter(result.fault for result in results)),
        "not_reached": [f"round {result.number}: {result.fault}" for result in results if not result.reached],
        "seconds": round(sum(result.seconds for result in results)),
        "complaints": complaints,
        "bugs_found": found,
        "well": done and not complaints and all(found.values()),
    }
    print(*(f"{name} {value}" for name, value in summary.items()), f"again: {again}", sep="\n")
    return {"brokers": options.brokers, "seed": options.seed, **summary}


async def do_rounds(made: Cluster, options: argparse.Namespace, results: list[RoundResult]) -> list[str]:
    """Does rounds up to the first one in which something is wrong; returns what was wrong after the last one."""
    for number in range(options.first, options.rounds + 1):
        result = await do_round(made, options, number)
        results.append(result)
        verdict = "ok" if result.clean else f"WRONG {result.findings}{'' if result.complete else ' INCOMPLETE'}"
        print(
            f"round {number:3} of {options.rounds}  {result.fault:26} fed {result.fed:6}  {result.seconds:5.1f} s"
            f"  {verdict}{'' if result.reached else '  (the fault was not reached)'}",
            flush=True,
        )
        if not result.clean:
            tell(made.found or made.ledger.check(), made.places)
            for worker in made.workers:
                print(f"worker {worker.number}: {worker.log.read_text('utf-8', 'replace')[-3000:]}")
            print(f"again: --brokers {options.brokers} --seed {options.seed} --first {number} --rounds {number}")
            return []
        made.settle()
    await made.dismiss_all()
    await made.read_on(2)
    late = made.ledger.check()
    tell(late, made.places)
    return [] if late.clean else [f"after the last round: {late.counts}"]


async def do_round(made: Cluster, options: argparse.Namespace, number: int) -> RoundResult:
    began, kind = time.monotonic(), fault_of(options, number)
    chance = random.Random(f"{options.seed}/{number}")
    await made.keep(2)
    reached = False
    for _ in range(_TRIES):
        # If a fault waits for the n-th time, fewer records may pass; they are counted all the same.
        if reached := await EVERY_FAULT[kind](made, chance):
            break
        await made.disarm()
    await made.brokers.mend()
    complete = await made.comes_out(PATIENCE_SECONDS)
    await made.thin_out(2)
    await made.expect_no_orphans()
    if options.brokers > 1 and not await made.brokers.settled(made.topics, _IN_SYNC_SECONDS):
        made.complaints.append(f"the replicas were not in sync after {_IN_SYNC_SECONDS:g} s")
    await made.read_on(0.3)
    findings = made.found or made.ledger.check()
    seconds = round(time.monotonic() - began, 1)
    return RoundResult(number, kind, reached, complete, len(made.ledger.fed), seconds, findings.counts)


async def find(brokers: Brokers, folder: Path, bug: str, seed: int) -> bool:
    """Runs a seeded bug in its situation until the checker finds what such a bug does; whether it did."""
    for number in range(_TRIES):
        async with cluster(brokers, folder, f"{bug}-{number}", bug) as made:
            # Each situation is a race that the bug has to lose, and on a starved machine it may win one.
            await SITUATIONS[bug](made, random.Random(seed + number))
            await brokers.mend()
            await made.comes_out(15, whatever_is_found=True)
            await made.read_on(2)
        counts = made.ledger.check().counts
        found = counts[BUGS[bug].finds] > 0
        print(f"seeded bug {bug:21} {'found' if found else 'NOT FOUND'}  {counts}", flush=True)
        if found:
            return True
    return False


def tell(findings: Findings, places: dict[str, list[str]]) -> None:
    """The first faults of each kind, and where the record was written."""
    for name in findings.counts:
        for line in getattr(findings, name)[:10]:
            print(f"  {name}: {line}  {' '.join(places.get(line.split()[1], ['nowhere']))}")


if __name__ == "__main__":
    sys.exit(main())
