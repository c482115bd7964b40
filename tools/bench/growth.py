"""How CPU time and memory grow with the input: the cost of one more page, that of every run, and memory.

The cost of one more page is the slope between two inputs; the rest of the smaller one is a fixed cost of a run.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tools.bench.runs import Run, Sample


@dataclass(frozen=True)
class Slope:
    """CPU time of a contestant, process and children, as a line through two inputs.

    Attributes:
        ms_per_page: Of one more page.
        fixed_seconds: Of a run, whatever its input.
        delivered: Records that the Kafka client delivered for each that was handled; more than 1 if some were set aside
            and fetched again.
        fetched_mb: For 1,000 pages.
        collecting_ms_per_page: Of the garbage collector.
    """

    ms_per_page: float
    fixed_seconds: float
    delivered: float
    fetched_mb: float
    collecting_ms_per_page: float


def slope_of(small: Sequence[Run], large: Sequence[Run]) -> Slope:
    """From the medians of runs over a small and a large input.

    >>> from tools.bench.child import Report
    >>> small, large = (Run(Report(n, 0.5 + 0.004 * n, 1.0, 0.0)) for n in (1000, 5000))
    >>> slope = slope_of([small], [large])
    >>> round(slope.ms_per_page, 3), round(slope.fixed_seconds, 3)
    (4.0, 0.5)
    """
    few, many = small[0].report.records, large[0].report.records
    cpu_few, cpu_many = (statistics.median(run.report.all_cpu for run in runs) for runs in (small, large))
    per_page = (cpu_many - cpu_few) / (many - few)

    def of_large(name: str) -> float:
        return statistics.median(float(run.report.more.get(name, 0)) for run in large) / many

    return Slope(
        round(1000 * per_page, 4),
        round(cpu_few - per_page * few, 3),
        round(of_large("delivered"), 3),
        round(1000 * of_large("fetched_mb"), 2),
        round(1000 * of_large("collecting_s"), 4),
    )


@dataclass(frozen=True)
class Growth:
    """Memory of one long run in MB: the mean of its second and last third. The first third has the warm-up."""

    records: int
    peak_mb: float
    parent_rss: tuple[float, float]
    parent_pss: tuple[float, float]
    children_rss: tuple[float, float]
    children_pss: tuple[float, float]

    @property
    def worst(self) -> float:
        """The largest ratio of the last third to the second, of PSS."""
        return max(last / second for second, last in (self.parent_pss, self.children_pss) if second)


def growth_of(run: Run) -> Growth:
    """The memory of a run."""
    third = max(1, len(run.memory) // 3)
    second, last = run.memory[third : 2 * third] or run.memory, run.memory[-third:]

    def means(name: str, kind: str) -> tuple[float, float]:
        before, after = (_mean(samples, name, kind) for samples in (second, last))
        return before, after

    return Growth(
        run.report.records,
        round(run.report.peak_mb, 1),
        means("parent", "rss"),
        means("parent", "pss"),
        means("children", "rss"),
        means("children", "pss"),
    )


def _mean(samples: Sequence[Sample], name: str, kind: str) -> float:
    return round(statistics.mean(getattr(getattr(sample, name), kind) for sample in samples), 1) if samples else 0.0
