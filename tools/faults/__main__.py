"""``make test-faults``: rounds of faults on a real broker, then the seeded bugs that the checker must find.

Every round feeds numbered records, causes its fault, waits until all outputs are written, and compares all inputs with
all outputs. The same seed gives the same faults in the same order; the exact moments depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from streams.local_kafka.broker import LocalKafka
from streams.telemetry.setup import configure_logs
from tests.faults.bugs import BUGS
from tests.faults.ledger import Findings
from tests.kafka_proxy import KafkaProxy
from tools.faults.cluster import PATIENCE_SECONDS, Cluster, cluster
from tools.faults.rounds import FAULTS
from tools.faults.seeded import SITUATIONS

_TRIES = 3
"""Of a fault that was not reached, and of a bug's situation that did not come about."""


def main() -> int:
    """Returns 0 where nothing was lost, doubled or out of order, every fault was done, and every bug was found."""
    parser = argparse.ArgumentParser(prog="make test-faults", description="Faults on a real Kafka.")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=sorted(FAULTS), help="One kind of fault.")
    parser.add_argument("--bugs", choices=("with", "without", "only"), default="with", help="The seeded bugs.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    configure_logs("error", "console")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    return asyncio.run(run(options.rounds, seed, options.only, options.bugs, options.json))


async def run(rounds: int, seed: int, only: str | None, bugs: str, as_json: bool) -> int:
    """The whole run."""
    began = time.monotonic()
    result: dict[str, object] = {"seed": seed}
    well = True
    with tempfile.TemporaryDirectory(prefix="assay-faults-") as name:
        folder = Path(name)
        async with LocalKafka() as kafka, KafkaProxy(int(kafka.bootstrap_servers.rsplit(":", 1)[1])) as proxy:
            if bugs != "only":
                async with cluster(kafka, folder, proxy, "rounds") as made:
                    outcome = await do_rounds(made, rounds, seed, only)
                well = bool(outcome.pop("well"))
                result |= outcome
            if bugs != "without":
                found = {bug: await find(kafka, folder, proxy, bug, seed) for bug in SITUATIONS}
                result["bugs_found"] = found
                well = well and all(found.values())
    seconds = round(time.monotonic() - began)
    print(f"{'all is well' if well else 'NOT WELL'} after {seconds} s; again: --rounds {rounds} --seed {seed}")
    if as_json:
        print(json.dumps(result | {"seconds": seconds, "well": well}))
    return 0 if well else 1


async def do_rounds(made: Cluster, rounds: int, seed: int, only: str | None) -> dict[str, object]:
    """Rounds of faults, every kind as often as every other, in an order that the seed decides."""
    chance = random.Random(seed)
    kinds: list[str] = []
    while len(kinds) < rounds:
        kinds += chance.sample(sorted(FAULTS), len(FAULTS)) if only is None else [only]
    done: Counter[str] = Counter()
    undone: list[str] = []
    findings = Findings()
    for number, kind in enumerate(kinds[:rounds], 1):
        began = time.monotonic()
        await made.keep(2)
        harmed = False
        for _ in range(_TRIES):
            # If a fault waits for the n-th time, fewer records may pass; they are counted all the same.
            if harmed := await FAULTS[kind](made, chance):
                break
            await made.disarm()
        done[kind] += 1
        if not harmed:
            undone.append(f"round {number}: {kind}")
        complete = await made.comes_out(PATIENCE_SECONDS)
        await made.thin_out(2)
        await made.expect_no_orphans()
        await made.read_on(0.3)
        findings = made.ledger.check()
        verdict = "ok" if findings.clean and complete else f"WRONG {findings.counts}"
        took = time.monotonic() - began
        print(
            f"round {number:3} of {rounds}  {kind:26} fed {len(made.ledger.fed):6}  {took:5.1f} s"
            f"  {verdict}{'' if harmed else '  (the fault was not reached)'}",
            flush=True,
        )
        if not (findings.clean and complete):
            tell(findings, made.places)
            for worker in made.workers:
                print(f"worker {worker.number}: {worker.log.read_text('utf-8', 'replace')[-3000:]}")
            break
    await made.dismiss_all()
    await made.read_on(2)
    findings = made.ledger.check()
    counts = {
        "rounds": sum(done.values()),
        "fed": len(made.ledger.fed),
        "fed_aborted": made.aborted,
        "arrived": len(made.ledger.arrived),
        "audited": len(made.ledger.audited),
        "dead": len(made.ledger.dead),
        "effects": len(made.ledger.effects),
        "workers": made.started,
        "deaths": made.deaths,
        **findings.counts,
    }
    print("  ".join(f"{name} {count}" for name, count in counts.items()))
    for line in (*undone, *made.complaints):
        print(f"  {line}")
    well = findings.clean and not undone and not made.complaints and sum(done.values()) == rounds
    return {**counts, "faults": dict(done), "undone": undone, "complaints": made.complaints, "well": well}


async def find(kafka: LocalKafka, folder: Path, proxy: KafkaProxy, bug: str, seed: int) -> bool:
    """Runs a seeded bug in its situation until the checker finds what such a bug does; whether it did."""
    for number in range(_TRIES):
        async with cluster(kafka, folder, proxy, f"{bug}-{number}", bug) as made:
            # Each situation is a race that the bug has to lose, and on a starved machine it may win one.
            await SITUATIONS[bug](made, random.Random(seed + number))
            await made.comes_out(15)
            await made.read_on(2)
            counts = made.ledger.check().counts
            found = counts[BUGS[bug].finds] > 0
            print(f"seeded bug {bug:18} {'found' if found else 'NOT FOUND'}  {counts}", flush=True)
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
