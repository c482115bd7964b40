"""Ranking: how well each stage of a query finds what is known to be the answer, what it costs, whom it trusts.

Two embedders are measured where the settings name another than the default one: vectors alone are weaker or stronger,
and words have to help either.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from streams.index.settings import EmbedderSettings
from streams.settings.model import Settings
from tools.accuracy.judges import Judge
from tools.accuracy.ranking_index import build
from tools.accuracy.ranking_sets import ranking_sets, sample
from tools.accuracy.ranking_stages import (
    Figures,
    Measured,
    measure,
    rules_of,
    switches,
    together,
)

_COLUMNS = (
    "queries",
    "NDCG@10",
    "MRR",
    "recall@50",
    "HIGH, top 5",
    "ms of CPU p50",
    "p95",
    "USD a thousand",
)


async def run(some: Sequence[Judge], settings: Settings, most_queries: int | None = None) -> list[str]:
    """A table for every set under every embedder and judge.

    Args:
        some: The judges that rank.
        settings: For the embedder that they name.
        most_queries: Of each set and kind; None for all.
    """
    embedders = [EmbedderSettings()]
    if settings.index.embedder != embedders[0]:
        embedders.append(settings.index.embedder)
    rows = {name: rules_of(section) for name, section in switches().items()}
    lines: list[str] = []
    sets = [sample(each, most_queries) for each in ranking_sets()]
    for labelled_set in sets:
        for embedder in embedders:
            index = await build(labelled_set.documents, embedder)
            lines += ["", f"### Ranking: {labelled_set.name}, {index.name}", ""]
            lines.append(f"{len(index.pages)} pages ({index.tiers()}) in {index.points} points.")
            for judge in some:
                chosen = judge.some(labelled_set.queries)
                measured = await measure(index, chosen, rows, judge)
                lines += ["", *_table(measured, judge.name)]
            await index.aclose()
    return lines


def _table(measured: Measured, judge: str) -> list[str]:
    kinds = list(dict.fromkeys(kind for kind, _ in measured))
    lines = [f"| stages, judge {judge} | {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * len(_COLUMNS)]
    for row in dict.fromkeys(row for _, row in measured):
        lines.append(f"| {row} | {' | '.join(_cells(together(measured, row, kinds)))} |")
    return lines


def _cells(figures: Figures) -> list[str]:
    times = sorted(figures.milliseconds)
    prices = [price for price in figures.usd if price is not None]
    usd = f"{1000 * fmean(prices):.3f}" if len(prices) == len(figures.usd) and prices else "unknown"
    return [
        str(len(figures)),
        *(f"{fmean(values):.3f}" for values in (figures.ndcg, figures.reciprocal, figures.recall)),
        f"{fmean(figures.high):.3f}",
        f"{median(times):.1f}",
        f"{times[min(len(times) - 1, int(len(times) * 0.95))]:.1f}",
        usd,
    ]
