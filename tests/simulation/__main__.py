"""``make simulate``: runs of the simulation, one for each seed, and the seeds that show a fault."""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.faults.bugs import BUGS
from tests.simulation.schedule import Result, base_settings, simulate

PAST = Path(__file__).with_name("past_seeds.txt")
"""Seeds that have shown a fault of the product or of the simulation, each with what it was."""
_RUNS = 40
"""Of a process: what killed workers leave behind is kept until it ends."""
_HASH_SEED = {"PYTHONHASHSEED": "0"}
"""The order of a set of texts is part of a run."""


def main() -> int:
    """Returns 0 if no run shows a fault; with seeded bugs, if each is found. After Ctrl-C, 130 and the sum so far."""
    parser = argparse.ArgumentParser(prog="make simulate", description="The pipeline over a simulated Kafka.")
    parser.add_argument("--schedules", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="The first one; a run goes on from any seed.")
    parser.add_argument("--past", action="store_true", help="Begins with the seeds that have shown a fault before.")
    here = sorted(name for name, bug in BUGS.items() if "simulation" in bug.where)
    parser.add_argument(
        "--bug",
        action="append",
        type=_bug,
        metavar="NAME[:SEED]",
        help=f"Plants a seeded bug until it is found: {', '.join(here)}.",
    )
    parser.add_argument("--trace", action="store_true", help="Prints every request of a run.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.schedules < 1 or options.jobs < 1:
        parser.error("--schedules and --jobs are at least 1")
    bugs: list[tuple[str | None, int | None]] = options.bug or [(None, None)]
    if unknown := sorted({name for name, _ in bugs if name} - set(here)):
        parser.error(f"--bug: there is no {', '.join(unknown)}; there are {', '.join(here)}")
    status = 0
    if any(os.environ.get(name) != value for name, value in _HASH_SEED.items()):
        arguments = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, arguments, os.environ | _HASH_SEED)  # noqa: S606 - the same program again
    for bug, seed in bugs:
        own = {"bug": bug, "seed": options.seed if seed is None else seed}
        status = max(status, run(argparse.Namespace(**vars(options) | own)))
        if status >= 128:
            break
    return status


def _bug(text: str) -> tuple[str, int | None]:
    """The name of a bug, and the seed to begin with."""
    name, _, seed = text.partition(":")
    return name, int(seed) if seed else None


def run(options: argparse.Namespace) -> int:
    """All runs, with progress."""
    seeds = [*(past_seeds() if options.past else ()), *range(options.seed, options.seed + options.schedules)]
    began, cpu_seconds, told = time.monotonic(), 0.0, time.monotonic()
    faults: Counter[str] = Counter()
    bad: list[Result] = []
    digest = hashlib.sha256()
    done, last, found = 0, options.seed, False
    interrupted: list[int] = []
    # The runs that have begun end as usual, for their processes inherit this.
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    for result, control, seconds in _results(seeds, options):
        done, last, cpu_seconds = done + 1, result.seed, cpu_seconds + seconds
        faults.update(fault.split()[0] for fault in result.faults)
        digest.update(result.digest.encode())
        if options.trace:
            print(*(f"{at:11.6f}  {who:4} {key:20} {event}" for at, who, key, event in result.trace), sep="\n")
        if not result.clean:
            bad.append(result)
            found = options.bug is not None and proves(options.bug, result, control)
            _say(options, f"seed {result.seed}: {result.findings} after {', '.join(result.faults) or 'no fault'}")
        if time.monotonic() - told > 10:
            told = time.monotonic()
            _say(
                options,
                f"{done} of {len(seeds)}, {_rate(done, told - began):.0f} a minute, to go on: --seed {last + 1}",
            )
        if found or interrupted:
            break
    wall = time.monotonic() - began
    summary = {
        "schedules": done, "first": options.seed, "last": last, "bad_seeds": [each.seed for each in bad],
        "faults": dict(faults), "seconds": round(wall, 1), "per_minute": round(_rate(done, wall)),
        "per_minute_of_cpu": round(_rate(done, cpu_seconds)), "bug": options.bug, "found": found,
        "digest": digest.hexdigest()[:16],
    }  # fmt: skip
    print(json.dumps(summary) if options.json else "  ".join(f"{name} {value}" for name, value in summary.items()))
    sys.stdout.flush()
    return 128 + interrupted[0] if interrupted else int(not found if options.bug else bool(bad))


def proves(bug: str, result: Result, control: Result | None) -> bool:
    """Whether a run shows what the bug does: the same run without the bug shows nothing, and it is not only slow."""
    finds = BUGS[bug].finds
    slow = finds == "lost" and "stuck" in result.findings
    return finds in result.findings and not slow and control is not None and control.clean


def past_seeds() -> list[int]:
    """The seeds of the file, which has a comment for each."""
    return [int(line.split()[0]) for line in PAST.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def _results(seeds: list[int], options: argparse.Namespace) -> Iterator[tuple[Result, Result | None, float]]:
    """The results in the order of the seeds, with the control of those that show a bug, and the CPU seconds of each."""
    base_settings()
    gc.collect()
    gc.freeze()
    one = partial(_timed, bug=options.bug or "", keep_trace=options.trace)
    processes = multiprocessing.get_context("fork").Pool(options.jobs, _begin, maxtasksperchild=_RUNS)
    with processes as pool:
        yield from pool.imap(one, seeds)


def _begin() -> None:
    """What killed workers leave behind must not be closed, and seeded bugs print."""
    gc.disable()
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends


def _timed(seed: int, bug: str, keep_trace: bool) -> tuple[Result, Result | None, float]:
    began, control = time.process_time(), None
    try:
        result = simulate(seed, bug, keep_trace)
        if bug and not result.clean:
            control = simulate(seed, bug, control=True)
    except Exception:
        # A bug of the simulation also has a seed.
        result = Result(seed, {"simulation": [traceback.format_exc()]}, (), "", 0.0)
    return result, control, time.process_time() - began


def _rate(done: int, seconds: float) -> float:
    return 60 * done / max(seconds, 0.001)


def _say(options: argparse.Namespace, line: str) -> None:
    print(line, file=sys.stderr if options.json else sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
