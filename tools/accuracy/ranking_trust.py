"""The effect of the trust block: the shipped recipe's trees with it, and trained without it, on sites that neither saw.

A hash gives each page of the held-out sites an address of a trusted, a known or an unknown host, so the trust in a page
is independent of its relevance. The trees order the queries that they are sure of, once as configured and once always;
then the same trees on points from before there was a trust score.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from handlers.rank_results import RankResultsRules
from handlers.ranking.model import RankingModel
from streams.training.model_files import SHIPPED, read_ranking_model
from tools.accuracy.goals import Goal
from tools.accuracy.judges import Judge
from tools.accuracy.ranking_index import build
from tools.accuracy.ranking_sets import PAGES, RankingSet
from tools.accuracy.ranking_stages import Figures, Measured, measure, rules_of, together
from tools.training.ranking import SETS, as_model, cases_of, grow_on
from tools.training.ranking_split import half

NO_TREES, WITH_TRUST, HIDDEN, OLD_POINTS = (
    "no trees",
    "all 41 features",
    "the same training, trust hidden",
    "all 41 features, points without trust",
)
ALWAYS, SURE = "in any case", "where they are sure"
MOST_LOST = 0.01
_COLUMNS = ("queries", "ordered by trees", "NDCG@10", "MRR", "HIGH, top 5")


async def run(judge: Judge, sets: Sequence[RankingSet], whole: Sequence[RankingSet]) -> tuple[list[str], list[Goal]]:
    """The table and the goals; nothing where the pages are not here.

    Args:
        judge: The judge that ranks.
        sets: To ask about.
        whole: The training data of the shipped trees.
    """
    public = next((some for some in sets if some.name == PAGES), None)
    if public is None:
        return [], []
    learned = [some for some in whole if some.name in SETS]
    hidden = as_model(grow_on(await cases_of(learned, held_out=False), hidden=True), "the same, trust hidden")
    shipped = read_ranking_model(SHIPPED)
    asked = half(public, held_out=True)
    rows = {NO_TREES: rules_of({})}
    for when, section in ((SURE, {}), (ALWAYS, {"confidence": 0.0})):
        on = rules_of({"trees": {"mode": "on", **section}})
        rows |= {f"{WITH_TRUST}, {when}": _with(on, shipped), f"{HIDDEN}, {when}": _with(on, hidden)}
    index = await build(asked.documents)
    measured = await measure(index, asked.queries, rows, judge)
    tiers, count = index.tiers(), len(index.pages)
    await index.aclose()
    old = await build(asked.documents, with_trust=False)
    last = f"{OLD_POINTS}, {ALWAYS}"
    measured |= await measure(old, asked.queries, {last: rows[f"{WITH_TRUST}, {ALWAYS}"]}, judge)
    await old.aclose()
    lines = ["", "### Ranking: what the trust block does", ""]
    lines += [f"{count} pages of sites held out ({tiers}), sources dealt.", "", *_table(measured, [*rows, last])]
    return lines, _goals(measured)


def _with(rules: RankResultsRules, model: RankingModel) -> RankResultsRules:
    return rules.model_copy(update={"ranking_model": model})


def _table(measured: Measured, rows: list[str]) -> list[str]:
    lines = [f"| order | {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * len(_COLUMNS)]
    for row in rows:
        figures = _whole(measured, row)
        means = (figures.ndcg, figures.reciprocal, figures.high)
        cells = [str(len(figures)), str(figures.by_trees), *(f"{fmean(values):.3f}" for values in means)]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return lines


def _goals(measured: Measured) -> list[Goal]:
    goals = []
    for when in (SURE, ALWAYS):
        ours, theirs = (_whole(measured, f"{who}, {when}") for who in (WITH_TRUST, HIDDEN))
        goals += [
            _at_least(f"trust block, {when}: takes at most {MOST_LOST} of NDCG@10", ours.ndcg, theirs.ndcg, MOST_LOST),
            _more(f"trust block, {when}: raises the share of HIGH in the top 5", ours.high, theirs.high),
        ]
    old, hidden = (_whole(measured, f"{who}, {ALWAYS}") for who in (OLD_POINTS, HIDDEN))
    what = f"points without trust, {ALWAYS}: at most {MOST_LOST} of NDCG@10 less than without the block"
    return [*goals, _at_least(what, old.ndcg, hidden.ndcg, MOST_LOST)]


def _at_least(what: str, ours: list[float], theirs: list[float], lost: float) -> Goal:
    return Goal(what, f"{fmean(ours):.3f} against {fmean(theirs) - lost:.3f}", fmean(ours) >= fmean(theirs) - lost)


def _more(what: str, ours: list[float], theirs: list[float]) -> Goal:
    return Goal(what, f"{fmean(ours):.3f} against {fmean(theirs):.3f}", fmean(ours) > fmean(theirs))


def _whole(measured: Measured, row: str) -> Figures:
    return together(measured, row, list(dict.fromkeys(kind for kind, _ in measured)))
