"""A stream with pages that hang, crash or take memory beside the same stream without them, and the figures of both."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tools.bench import runs
from tools.bench.feeds import Broker, feed_hostile, remove, results_of
from tools.bench.hostile import REASONS, Hang, Verdicts, hangs_of, judge, read_journal
from tools.bench.runs import Run

_VERDICTS = ("processed", "lost", "twice", "wrong")


@dataclass(frozen=True)
class Round:
    """One clean and one hostile run."""

    clean: Run
    mixed: Run
    verdicts: Verdicts
    hangs: list[Hang]
    faulty: int
    """Pages of each kind of fault."""


async def one_round(kafka: Broker, count: int, one_in: int, workers: Mapping[str, Any], prefix: str) -> Round:
    """Both streams; workers has ``cpu_seconds``."""
    clean, mixed, kinds = await feed_hostile(kafka, count, one_in, prefix)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "hostile"
        clean_run = await runs.hostile(clean, workers, Path(folder) / "clean")
        mixed_run = await runs.hostile(mixed, workers, journal)
        hangs = hangs_of(read_journal(journal), workers["cpu_seconds"])
    verdicts = judge(kinds, await results_of(clean), await results_of(mixed))
    await remove(clean)
    await remove(mixed)
    return Round(clean_run, mixed_run, verdicts, hangs, sum(kind == "hang" for kind in kinds.values()))


def figures(rounds: Sequence[Round], workers: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of all rounds: verdicts and the longest times of all, rates and lags as medians."""
    clean, mixed = (runs.median_of(getattr(its, name) for its in rounds) for name in ("clean", "mixed"))
    dead = {reason: sum(its.verdicts.dead.get(reason, 0) for its in rounds) for reason in REASONS.values()}
    return {
        "clean": clean,
        "mixed": mixed,
        "pages": sum(its.mixed.report.records for its in rounds),
        "faulty": sum(its.faulty for its in rounds),
        "dead": dead,
        **{name: sum(getattr(its.verdicts, name) for its in rounds) for name in _VERDICTS},
        "rebalances": sum(its.mixed.report.more["rebalances"] for its in rounds),
        "lag_ratio": round(mixed["lag_p99_ms"] / clean["lag_p99_ms"], 2),
        "hang_cost": round(max((hang.beyond for its in rounds for hang in its.hangs), default=math.inf), 3),
        "rate_ratio": round(median(_rate_ratio(its, workers) for its in rounds), 3),
        "workers": dict(workers),
    }


def _rate_ratio(its: Round, workers: Mapping[str, Any]) -> float:
    """The rate against the clean one, without the time that the hangs took of all children."""
    clean, mixed = its.clean.report, its.mixed.report
    waited = sum(hang.seconds for hang in its.hangs) / workers["processes"]
    return float((mixed.records / (mixed.wall - waited)) / (clean.records / clean.wall))
