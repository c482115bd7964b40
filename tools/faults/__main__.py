"""``make test-faults``: rounds of faults on a real Kafka, then the seeded bugs that the checker must find.

Every round feeds numbered records, causes its fault, waits until all outputs are written, and compares all inputs with
all outputs. The seed of a run and the number of a round decide the fault and its details; the exact moments depend on
the machine. With ``--resume`` the rounds of several runs add up in a file.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import random
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streams.telemetry.setup import configure_logs
from tests.brokers import Brokers, may_mount
from tests.faults.bugs import BUGS
from tests.faults.ledger import Findings
from tools.faults.broker_rounds import FAULTS_OF_THREE
from tools.faults.cluster import PATIENCE_SECONDS, Cluster, cluster, run_with_cleanup
from tools.faults.results import RoundResult, append_result, read_results, sum_up
from tools.faults.rounds import FAULTS
from tools.faults.seeded import FEW, SITUATIONS
from tools.faults.trials import TRIALS

EVERY_FAULT = FAULTS | FAULTS_OF_THREE | TRIALS
_NEEDS_ROOT = "which needs the right to mount a disk, as root has it"
_TRIES = 3
"""Of a fault that was not reached, and of a bug's situation that did not come about."""
_IN_SYNC_SECONDS = 90.0
"""For so long replicas may take to be in sync after a fault."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does."""

    brokers: int
    first: int
    rounds: int
    seed: int
    only: str | None
    file: Path | None
    left_out: frozenset[str] = frozenset()
    """Faults that can't be done here."""

    def fault(self, number: int) -> str:
        """The fault of a round: every kind as often as every other, in an order that the seed decides."""
        if self.only is not None:
            return self.only
        kinds = sorted(set(FAULTS if self.brokers == 1 else EVERY_FAULT) - self.left_out)
        turn, place = divmod(number - 1, len(kinds))
        return random.Random(f"{self.seed}/turn {turn}").sample(kinds, len(kinds))[place]


def main() -> int:
    """Returns 0 where nothing was lost, doubled or out of order, every fault was done, and every bug was found."""
    parser = argparse.ArgumentParser(prog="make test-faults", description="Faults on a real Kafka.")
    parser.add_argument("--rounds", type=int, default=30, help="The number of the last round.")
    parser.add_argument("--first", type=int, default=1, help="The number of the first round.")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=sorted(EVERY_FAULT), help="One kind of fault.")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="Continue after the rounds of FILE and add to it.")
    parser.add_argument("--bugs", default="few", help="Seeded bugs: few, all, none, or names with commas.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if (bugs := _bugs(options.bugs, options.brokers)) is None:
        parser.error(f"--bugs: few, all, none, or some of {', '.join(SITUATIONS)}")
    configure_logs("error", "console")
    # Its reader and feeder find brokers away all the time.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        before = read_results(options.resume) if options.resume else []
    except ValueError as error:
        parser.error(str(error))
    if before and (before[0].brokers != options.brokers or options.seed not in (None, before[0].seed)):
        parser.error(f"{options.resume} has rounds of {before[0].brokers} brokers and seed {before[0].seed}")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    if before:
        seed = before[0].seed
    first = max(options.first, before[-1].number + 1 if before else 1)
    left_out = frozenset(() if options.brokers == 1 or may_mount() else ("disk full",))
    if options.only in left_out:
        parser.error(f"--only {options.only}: {_NEEDS_ROOT}")
    plan = Plan(options.brokers, first, options.rounds, seed, options.only, options.resume, left_out)
    # With --json the standard output has the summary alone.
    with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        summary = run_with_cleanup(run(plan, before, bugs))
    if options.json:
        print(json.dumps(summary))
    return 0 if summary["well"] else 1


def _bugs(text: str, brokers: int) -> list[str] | None:
    """The bugs to find; None where the text names none of them."""
    here = [name for name in SITUATIONS if brokers == 3 or "rounds" in BUGS[name].where]
    if text in ("few", "all", "none"):
        return {"few": [name for name in FEW if name in here], "all": here, "none": []}[text]
    names = text.split(",")
    return names if set(names) <= set(here) else None


async def run(plan: Plan, before: list[RoundResult], bugs: list[str]) -> dict[str, Any]:
    """The whole run: its summary."""
    began = time.monotonic()
    results, found = list(before), dict[str, bool]()
    print(f"{plan.brokers} brokers, seed {plan.seed}", flush=True)
    for kind in sorted(plan.left_out):
        print(f"left out: {kind}, {_NEEDS_ROOT}", flush=True)
    try:
        await _rounds_and_bugs(plan, bugs, results, found)
    except asyncio.CancelledError:
        _print_sum(sum_up(results))
        file = f" --resume {plan.file}" if plan.file else f" --first {len(results) + plan.first - len(before)}"
        print(f"to go on: --brokers {plan.brokers} --rounds {plan.rounds} --seed {plan.seed}{file}", flush=True)
        raise
    counts = sum_up(results)
    well = bool(counts["well"]) and len(results) >= plan.rounds - plan.first + 1 and all(found.values())
    _print_sum(counts)
    seconds = round(time.monotonic() - began)
    again = f"--brokers {plan.brokers} --rounds {plan.rounds} --seed {plan.seed}"
    print(f"{'all is well' if well else 'NOT WELL'} after {seconds} s; again: {again}")
    return {
        "brokers": plan.brokers, "seed": plan.seed, **counts, "left_out": sorted(plan.left_out), "bugs_found": found,
        "well": well,
    }  # fmt: skip


async def _rounds_and_bugs(plan: Plan, bugs: list[str], results: list[RoundResult], found: dict[str, bool]) -> None:
    """Adds the result of each round and of each bug as soon as it is known."""
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as name:
        folder = Path(name)
        async with Brokers(plan.brokers) as brokers:
            if plan.first <= plan.rounds:
                async with cluster(brokers, folder, "rounds") as made:
                    await do_rounds(made, plan, results)
            for bug in bugs:
                found[bug] = await find(brokers, folder, bug, plan.seed)


def _print_sum(counts: dict[str, object]) -> None:
    print("  ".join(f"{name} {count}" for name, count in counts.items() if not isinstance(count, dict | list)))
    for line in (*counts["not_reached"], *counts["complaints"]):  # type: ignore[misc]
        print(f"  {line}")


async def do_rounds(made: Cluster, plan: Plan, results: list[RoundResult]) -> None:
    """Does the rounds of a plan, up to the first one in which something is lost, doubled, torn or out of order."""
    for number in range(plan.first, plan.rounds + 1):
        result = await do_round(made, plan, number)
        results.append(result)
        if plan.file is not None:
            append_result(plan.file, result)
        verdict = "ok" if result.clean else f"WRONG {result.findings}{'' if result.complete else ' INCOMPLETE'}"
        print(
            f"round {number:3} of {plan.rounds}  {result.fault:26} fed {result.fed:6}  {result.seconds:5.1f} s"
            f"  {verdict}{'' if result.reached else '  (the fault was not reached)'}",
            flush=True,
        )
        if not result.clean:
            tell(made.found or made.ledger.check(), made.places)
            for worker in made.workers:
                print(f"worker {worker.number}: {worker.log.read_text('utf-8', 'replace')[-3000:]}")
            print(f"again: --brokers {plan.brokers} --seed {plan.seed} --first {number} --rounds {number}")
            break
        made.settle()
    await made.dismiss_all()
    await made.read_on(2)
    if results and results[-1].clean and not (late := made.ledger.check()).clean:
        results[-1] = replace(results[-1], findings=late.counts)
        if plan.file is not None:
            append_result(plan.file, results[-1])
        tell(late, made.places)


async def do_round(made: Cluster, plan: Plan, number: int) -> RoundResult:
    """Does one round."""
    began, kind = time.monotonic(), plan.fault(number)
    chance = random.Random(f"{plan.seed}/{number}")
    complained = len(made.complaints)
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
    if plan.brokers > 1 and not await made.brokers.settled(made.topics, _IN_SYNC_SECONDS):
        made.complaints.append(f"the replicas were not in sync after {_IN_SYNC_SECONDS:g} s")
    await made.read_on(0.3)
    findings = made.found or made.ledger.check()
    return RoundResult(
        seed=plan.seed,
        number=number,
        brokers=plan.brokers,
        fault=kind,
        reached=reached,
        complete=complete,
        fed=len(made.ledger.fed),
        seconds=round(time.monotonic() - began, 1),
        findings=findings.counts,
        complaints=made.complaints[complained:],
    )


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
