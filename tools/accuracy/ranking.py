"""Ranking: how well each stage of a query finds what is known to be the answer, what it costs, whom it trusts.

Two embedders are measured where the settings name another than the default one: vectors alone are weaker or stronger,
and words have to help either.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from streams.index.settings import EmbedderSettings
from streams.settings.model import Settings
from tools.accuracy.goals import LEAST_LABELLED, Goal
from tools.accuracy.judges import Judge
from tools.accuracy.ranking_index import build
from tools.accuracy.ranking_sets import PAGES, ranking_sets, sample
from tools.accuracy.ranking_stages import (
    BM25,
    SHIPPED,
    VECTOR,
    Figures,
    Measured,
    measure,
    rules_of,
    switches,
    together,
)

TOGETHER = "together"
MORE, LESS = 0.05, 0.01
"""What words have to add to vectors, unless they take half of what is left; what a later stage may lose."""
_COLUMNS = (
    "queries",
    "NDCG@10",
    "MRR",
    "recall@50",
    "unlike, top 10",
    "domains, top 10",
    "HIGH, top 5",
    "ms of CPU p50",
    "p95",
    "USD a thousand",
)


async def run(
    some: Sequence[Judge], settings: Settings, most_queries: int | None = None
) -> tuple[list[str], list[Goal]]:
    """Tables and goals: every set under every embedder and judge.

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
    goals: list[Goal] = []
    sets = [sample(each, most_queries) for each in ranking_sets()]
    for labelled_set in sets:
        for embedder in embedders:
            index = await build(labelled_set.documents, embedder)
            head = f"{labelled_set.name}, {index.name}"
            lines += ["", f"### Ranking: {head}", ""]
            lines.append(f"{len(index.pages)} pages ({index.tiers()}) in {index.points} points.")
            for judge in some:
                chosen = judge.some(labelled_set.queries)
                measured = await measure(index, chosen, rows, judge)
                lines += ["", *_table(measured, judge.name)]
                goals += _goals(head, measured, judge.name, known=labelled_set.name == PAGES)
            await index.aclose()
    return [*lines, ""], goals


def _table(measured: Measured, judge: str) -> list[str]:
    kinds = _kinds(measured)
    rows = list(dict.fromkeys(row for _, row in measured))
    lines = [f"| queries | stages, judge {judge} | {' | '.join(_COLUMNS)} |", "|---|---|" + "---:|" * len(_COLUMNS)]
    for kind in (*kinds, TOGETHER):
        for row in rows:
            figures = together(measured, row, kinds if kind == TOGETHER else (kind,))
            lines.append(f"| {kind} | {row} | {' | '.join(_cells(figures))} |")
    return lines


def _cells(figures: Figures) -> list[str]:
    times = sorted(figures.milliseconds)
    prices = [price for price in figures.usd if price is not None]
    usd = f"{1000 * fmean(prices):.3f}" if len(prices) == len(figures.usd) and prices else "unknown"
    return [
        str(len(figures)),
        *(f"{fmean(values):.3f}" for values in (figures.ndcg, figures.reciprocal, figures.recall, figures.unlike)),
        f"{fmean(figures.domains):.1f}",
        f"{fmean(figures.high):.3f}",
        f"{median(times):.1f}",
        f"{times[min(len(times) - 1, int(len(times) * 0.95))]:.1f}",
        usd,
    ]


def _goals(head: str, measured: Measured, judge: str, *, known: bool) -> list[Goal]:
    """Words help vectors on known items; no later stage undoes it; stages run in the plan's order."""
    kinds = _kinds(measured)
    rows = list(dict.fromkeys(row for _, row in measured))
    groups = [(kind, (kind,)) for kind in kinds if len(measured[kind, VECTOR]) >= LEAST_LABELLED] if known else []
    goals: list[Goal] = []
    for name, of in (*groups, (TOGETHER, tuple(kinds))):
        ndcg = {row: fmean(together(measured, row, of).ndcg) for row in rows}
        vector, hybrid = ndcg[VECTOR], ndcg[BM25]
        wanted = min(vector + MORE, vector + (1 - vector) / 2)
        what = f"ranking, {head}, {name}: BM25 adds {MORE} to NDCG@10, or half of what is left"
        goals.append(Goal(what, f"{hybrid:.3f} against {wanted:.3f}", hybrid >= wanted))
        for before, after in pairwise(row for row in rows if row not in (VECTOR, SHIPPED)):
            least = ndcg[before] - LESS
            what = f"ranking, {head}, {name}: “{after}” ({judge}) takes at most {LESS} of NDCG@10"
            goals.append(Goal(what, f"{ndcg[after]:.3f} against {least:.3f}", ndcg[after] >= least))
    asked = sum(len(figures) for figures in measured.values())
    wrong = sum(figures.out_of_order for figures in measured.values())
    goals.append(Goal(f"ranking, {head}: stages in the plan's order", f"{asked - wrong} of {asked}", not wrong))
    return goals


def _kinds(measured: Measured) -> list[str]:
    return list(dict.fromkeys(kind for kind, _ in measured))
