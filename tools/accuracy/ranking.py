"""Ranking: how well each stage of a query finds what is known to be the answer, what it costs, whom it trusts.

Two embedders are measured where the settings name another than the default one: vectors alone are weaker or stronger,
and words have to help either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean, median
from time import process_time
from typing import Any

from handlers.rank_results import RankResultsRules, rank_results, read_ranking
from schemas.needs import Ask, AskModel, SearchVectors
from schemas.outcome import Emit
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import Reply
from streams.index.settings import EmbedderSettings
from streams.settings.model import Settings, load_settings
from streams.training.grade import ndcg_at, reciprocal_rank
from tools.accuracy.judges import Judge, p95
from tools.accuracy.ranking_index import RankingIndex, build
from tools.accuracy.ranking_sets import Query, ranking_sets, sample
from tools.table import markdown

TOP, TOP_TRUST, DEPTH = 10, 5, 50
"""Results that NDCG looks at, the share of HIGH, and recall."""
VECTOR, BM25, RANKING, TREES, MMR, SHIPPED = "vector", "+ BM25", "+ ranking", "+ trees", "+ MMR", "as shipped"
_OFF: Mapping[str, Mapping[str, Any]] = {
    "bm25": {"enabled": False},
    "model_ranking": {"enabled": False},
    "trees": {"mode": "off"},
    "mmr": {"enabled": False},
}
_ON: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BM25: ("bm25", {"enabled": True}),
    RANKING: ("model_ranking", {"enabled": True}),
    TREES: ("trees", {"mode": "on"}),
    MMR: ("mmr", {"enabled": True}),
}
ASKED_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""When every query is asked, for all pages are older than that; so the figures don't age."""
_TIMED = 50
"""Queries that are asked again for the time."""


@dataclass(slots=True)
class Figures:
    """What was measured of some queries, one entry each."""

    ndcg: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    usd: list[float | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ndcg)


def switches() -> dict[str, dict[str, Any]]:
    """The section ``ranking`` of each row, from vectors alone to all stages; then what ships."""
    section: dict[str, Any] = dict(_OFF)
    rows = {VECTOR: section}
    for name, (stage, on) in _ON.items():
        section = {**section, stage: on}
        rows[name] = section
    return {**rows, SHIPPED: {}}


def rules_of(section: Mapping[str, Any], **others: Any) -> RankResultsRules:
    """The shipped rules with these keys of the section, and of others, changed."""
    settings = load_settings(ranking=dict(section), **others)
    return settings.rules(RankResultsRules)


async def measure(
    index: RankingIndex, queries: Sequence[Query], rows: Mapping[str, RankResultsRules], judge: Judge
) -> dict[str, Figures]:
    """Asks every query under the rules of every row; some of them again, as a user would, for the time.

    A context changes no order, and a context of as many results as recall needs is larger than any user's.
    """
    measured: dict[str, Figures] = defaultdict(Figures)
    for row, served in rows.items():
        rules = served.model_copy(update={"reasoning": served.reasoning.model_copy(update={"enabled": False})})
        for query in queries:
            completed, _ = await answer(index, query.text, rules, judge)
            _count(measured[row], query, completed)
        for query in queries[:: max(1, len(queries) // _TIMED)]:
            _, milliseconds = await answer(index, query.text, served, judge, None)
            measured[row].milliseconds.append(milliseconds)
    return measured


async def answer(
    index: RankingIndex, text: str, rules: RankResultsRules, judge: Judge, limit: int | None = DEPTH
) -> tuple[RankingCompleted, float]:
    """The answer to a query, and the milliseconds of CPU that it took, those of its vector search included."""
    request = RankingRequested(request_id="accuracy", query=text, limit=limit, requested_at=ASKED_AT)
    replies: list[Reply] = []
    searched, began = 0.0, process_time()
    step = rank_results(request, rules)
    while isinstance(step, Ask):
        asked = process_time()
        if isinstance(step.need, SearchVectors):
            reply, seconds = await index.search(step.need)
            replies.append(reply)
            searched += seconds - (process_time() - asked)
        else:
            assert isinstance(step.need, AskModel)
            replies.append(await judge.ask(step.need))
        step = read_ranking(request, tuple(replies), rules)
    outcome = step
    assert isinstance(outcome, Emit), outcome
    completed = outcome.events[0]
    assert isinstance(completed, RankingCompleted)
    return completed, 1000 * (process_time() - began + searched)


def _count(figures: Figures, query: Query, completed: RankingCompleted) -> None:
    urls = [result.url for result in completed.results]
    grades = [query.grades.get(url, 0.0) for url in urls]
    figures.ndcg.append(ndcg_at(grades, TOP, list(query.grades.values())))
    figures.reciprocal.append(reciprocal_rank(grades))
    figures.recall.append(sum(url in query.grades for url in urls[:DEPTH]) / len(query.grades))
    labels = [result.trust_label for result in completed.results[:TOP_TRUST]]
    figures.high.append(labels.count("HIGH") / len(labels) if labels else 0.0)
    figures.usd.append(completed.llm.cost_usd if completed.llm else 0.0)


_HEADS = ("queries", "NDCG@10", "MRR", "recall@50", "HIGH, top 5", "ms of CPU p50", "p95", "USD a thousand")


async def run(every: Sequence[Judge], settings: Settings, most_queries: int | None = None) -> list[str]:
    """A table for every set under every embedder and judge.

    Args:
        every: The judges that rank.
        settings: For the embedder that they name.
        most_queries: Of each set and kind; None for all.
    """
    embedders = [EmbedderSettings()]
    if settings.index.embedder != embedders[0]:
        embedders.append(settings.index.embedder)
    rows = {name: rules_of(section) for name, section in switches().items()}
    lines: list[str] = []
    for labelled_set in ranking_sets():
        asked = sample(labelled_set, most_queries)
        for embedder in embedders:
            index = await build(asked.documents, embedder)
            lines += [f"### Ranking: {asked.name}, {index.name}\n"]
            lines += [f"{len(index.pages)} pages ({index.tiers()}) in {index.points} points.\n"]
            for judge in every:
                measured = await measure(index, judge.some(asked.queries), rows, judge)
                cells = [[row, *_cells(figures)] for row, figures in measured.items()]
                lines.append(markdown("", [f"stages, judge {judge.name}", *_HEADS], cells))
            await index.aclose()
    return lines


def _cells(figures: Figures) -> list[object]:
    prices = [price for price in figures.usd if price is not None]
    usd = f"{1000 * fmean(prices):.3f}" if len(prices) == len(figures.usd) and prices else "unknown"
    shares = (figures.ndcg, figures.reciprocal, figures.recall, figures.high)
    times = (median(figures.milliseconds), p95(figures.milliseconds))
    return [len(figures), *(f"{fmean(values):.3f}" for values in shares), *(f"{time:.1f}" for time in times), usd]
