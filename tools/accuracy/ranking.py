"""Ranking: how well each stage of a query finds what is known to be the answer, what it costs, whom it trusts.

Two embedders are measured where the settings name another than the default one: vectors alone are weaker or stronger,
and words have to help either.

Each page is scored and indexed in memory as in production, and its tier decides its points. Each vector search is
answered once, with its time: the stages after it are measured many times.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from statistics import fmean, median
from time import process_time
from typing import Any

from handlers.index_page import IndexPageRules, index_page
from handlers.rank_results import RankResultsRules
from handlers.score_page import ScorePageRules, score_page
from schemas.needs import Ask, AskModel, Need, SearchVectors
from schemas.outcome import Emit
from schemas.pages import CrawledPage, ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from schemas.replies import IndexReply, Reply, VectorsReply
from streams.index.settings import EmbedderSettings
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from streams.training.grade import ndcg_at, reciprocal_rank
from streams.workers.handler_jobs import converse
from tests.samples import instance, the_handler
from tools.accuracy.judges import Judge, p95
from tools.accuracy.measure import TOGETHER, Measure, Measures, Setup, sampled
from tools.accuracy.ranking_sets import Document, Query, ranking_sets, sample

TOP, TOP_TRUST, DEPTH = 10, 5, 50
"""Results that NDCG looks at, the share of HIGH, and recall."""
VECTOR, BM25, RANKING, TREES, MMR, SHIPPED = "vector", "+ BM25", "+ ranking", "+ trees", "+ MMR", "as shipped"
_STAGES: Sequence[tuple[str, str, dict[str, Any], dict[str, Any]]] = (
    (BM25, "bm25", {"enabled": False}, {"enabled": True}),
    (RANKING, "model_ranking", {"enabled": False}, {"enabled": True}),
    (TREES, "trees", {"mode": "off"}, {"mode": "on"}),
    (MMR, "mmr", {"enabled": False}, {"enabled": True}),
)
"""By row: the stage's section, off and on."""
ASKED_AT = datetime(2026, 1, 1, tzinfo=UTC)
"""When every query is asked, for all pages are older than that; so the figures don't age."""
_TIMED = 50
"""Queries that are asked again for the time."""
_HEADS = ("queries", "NDCG@10", "MRR", "recall@50", "HIGH, top 5", "ms of CPU p50", "p95", "USD a thousand")


@dataclass(slots=True)
class RankingIndex:
    """Pages in an index, by address, with the name of the embedder and the number of all points."""

    name: str
    services: LiveServices
    pages: dict[str, ScoredPage] = field(default_factory=dict)
    points: int = 0
    _found: dict[SearchVectors, tuple[VectorsReply, float]] = field(default_factory=dict)

    async def search(self, need: SearchVectors) -> tuple[VectorsReply, float]:
        """What is nearest, and the seconds of CPU that the first such search took."""
        if need not in self._found:
            began = process_time()
            reply = instance(VectorsReply, await self.services.answer(need, None))
            self._found[need] = reply, process_time() - began
        return self._found[need]

    def tiers(self) -> str:
        """How many pages each tier has."""
        counts = Counter(str(page.tier) for page in self.pages.values())
        return ", ".join(f"{tier} {counts[tier]}" for tier in "ABC")


async def build(documents: Iterable[Document], embedder: EmbedderSettings | None = None) -> RankingIndex:
    """Scores and indexes the documents, by the default embedder unless another is given."""
    embedder = embedder or EmbedderSettings()
    settings = load_settings(index={"url": "", "path": None, "embedder": embedder.model_dump()})
    index = RankingIndex(settings.index.embedder.kind, LiveServices(settings))
    score, points = settings.rules(ScorePageRules), settings.rules(IndexPageRules)
    for document in documents:
        body = base64.b64encode(document.body).decode()
        outcome = score_page(CrawledPage.model_validate({"url": document.url, "html_base64": body}), score)
        if not isinstance(outcome, Emit):
            continue
        page = instance(ScoredPage, outcome.events[0])
        step = index_page(page, points)
        if not isinstance(step, Ask):
            continue  # it has no content
        reply = instance(IndexReply, await index.services.answer(step.need, None))
        index.name, index.points = reply.embedder, index.points + reply.points
        index.pages[document.url] = page
    return index


def switches() -> dict[str, dict[str, Any]]:
    """The section ``ranking`` of each row, from vectors alone to all stages; then what ships."""
    section: dict[str, Any] = {stage: off for _, stage, off, _ in _STAGES}
    rows = {VECTOR: section}
    for name, stage, _, on in _STAGES:
        rows[name] = section = {**section, stage: on}
    return {**rows, SHIPPED: {}}


def rules_of(section: Mapping[str, Any], **others: Any) -> RankResultsRules:
    return load_settings(ranking=dict(section), **others).rules(RankResultsRules)


async def measures(setup: Setup) -> Measures:
    """Every set under every embedder and judge; the rows are the stages.

    A context changes no order, and a context of as many results as recall needs is larger than any user's. So queries
    are asked without one, and some of them again, as a user would, for the time.
    """
    embedders = [EmbedderSettings(), setup.settings.index.embedder]
    rows = {name: rules_of(section) for name, section in switches().items()}
    for whole in ranking_sets():
        labelled_set = sample(whole, setup.most_queries)
        for embedder in embedders[: 1 + (embedders[0] != embedders[1])]:
            index = await build(labelled_set.documents, embedder)
            title = f"### Ranking: {labelled_set.name}, {index.name}\n\n"
            title += f"{len(index.pages)} pages ({index.tiers()}) in {index.points} points."
            for judge in setup.judges:
                queries = sampled(labelled_set.queries, judge.most_cases)
                timed = queries[:: max(1, len(queries) // _TIMED)]
                yield Measure(
                    name=title, cases={TOGETHER: queries}, figures=_figures, heads=_HEADS,
                    contestants={row: partial(_asked, index, rules, judge, timed) for row, rules in rows.items()},
                    group=(), by=f"stages, judge {judge.name}",
                )  # fmt: skip
                title = ""
            await index.services.aclose()


async def _asked(
    index: RankingIndex, served: RankResultsRules, judge: Judge, timed: Sequence[Query], query: Query
) -> tuple[list[float], float | None, float | None]:
    """Shares of what is known to answer a query, the cost in USD, and milliseconds if its time is taken."""
    rules = served.model_copy(update={"reasoning": served.reasoning.model_copy(update={"enabled": False})})
    completed, _ = await answer(index, query.text, rules, judge)
    urls = [result.url for result in completed.results]
    grades = [query.grades.get(url, 0.0) for url in urls]
    recall = sum(url in query.grades for url in urls[:DEPTH]) / len(query.grades)
    labels = [result.trust_label for result in completed.results[:TOP_TRUST]]
    high = labels.count("HIGH") / len(labels) if labels else 0.0
    shares = [ndcg_at(grades, TOP, list(query.grades.values())), reciprocal_rank(grades), recall, high]
    milliseconds = (await answer(index, query.text, served, judge, None))[1] if query in timed else None
    return shares, completed.llm.cost_usd if completed.llm else 0.0, milliseconds


async def answer(
    index: RankingIndex, text: str, rules: RankResultsRules, judge: Judge, limit: int | None = DEPTH
) -> tuple[RankingCompleted, float]:
    """The answer to a query, and the milliseconds of CPU that it took, those of its vector search included."""
    request = RankingRequested(request_id="accuracy", query=text, limit=limit, requested_at=ASKED_AT)
    searched = 0.0

    async def reply(need: Need) -> Reply:
        nonlocal searched
        if isinstance(need, AskModel):
            return await judge.ask(need)
        asked = process_time()
        found, seconds = await index.search(instance(SearchVectors, need))
        searched += seconds - (process_time() - asked)
        return found

    began = process_time()
    outcome = await converse(the_handler("rank_results"), rules, request, reply)
    return instance(RankingCompleted, instance(Emit, outcome).events[0]), 1000 * (process_time() - began + searched)


def _figures(answers: Sequence[tuple[list[float], float | None, float | None]], _: int) -> list[object]:
    shares, prices, times = zip(*answers, strict=True)
    known = [price for price in prices if price is not None]
    usd = f"{1000 * fmean(known):.3f}" if len(known) == len(prices) else "unknown"
    taken = [time for time in times if time is not None]
    means = (f"{fmean(values):.3f}" for values in zip(*shares, strict=True))
    return [len(answers), *means, f"{median(taken):.1f}", f"{p95(taken):.1f}", usd]
