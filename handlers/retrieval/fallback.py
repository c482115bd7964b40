"""The three dimensions of a batch without a judge: how far its results meet the facets of the query."""

from __future__ import annotations

from collections.abc import Sequence

from handlers.results.batch import RetrievalEvaluationSection
from handlers.retrieval.facets import QueryReader, answers, met, share_of, with_missing_weighed
from schemas.retrieval import ClassifiedResult, JudgeScores, ResultType, RetrievedContent


def fallback_scores(
    query: str,
    contents: Sequence[RetrievedContent],
    results: Sequence[ClassifiedResult],
    section: RetrievalEvaluationSection,
    reader: QueryReader,
) -> JudgeScores:
    """Compares the facets of the query with the results, whose texts are ``contents``, in the same order.

    Recall: the share of the facets that a result meets. Precision: the share of results that answer; no listing does.
    Quality: the mean trust score over 100; the configured value for a result without one.
    """
    facets = reader.read(query)
    scores: list[list[float]] = []
    items: list[list[float]] = []
    for content, result in zip(contents, results, strict=False):
        if result.actionable_score == 0.0:
            continue  # an error page or a wall
        is_listing = result.result_type is ResultType.AGGREGATOR
        seen = reader.see(content.title, content.content, result.evidence, is_listing=is_listing)
        scores.append([met(facet, seen) for facet in facets])
        if not is_listing:
            items.append(scores[-1])
    best = [max(of_results) for of_results in zip(*scores, strict=True)] or [0.0] * len(facets)
    weighed = with_missing_weighed(facets, scores) if scores else facets
    relevant = sum(answers(weighed, found, section.coverageThreshold) for found in items)
    unknown = section.unknownSourceQuality
    quality = sum(unknown if content.cts_score is None else content.cts_score / 100 for content in contents)
    count = max(1, len(contents))
    return JudgeScores(
        context_recall=round(share_of(facets, best), 4),
        context_precision=round(relevant / count, 4),
        source_quality=round(quality / count, 4),
    )
