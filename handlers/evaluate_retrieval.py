"""Does a batch answer its query? Four dimensions, a verdict, and how each source fared.

In: a classified batch. Out: ``RetrievalEvaluated``. Recall, precision and quality come from a judge where its numbers
were given; otherwise they are computed from the words that query and results share, and the event says so. A judge may
score single sources too. A batch never passes by default.
"""

from __future__ import annotations

from functools import cached_property

from handlers.page.links import canonical_url
from handlers.results.coverage import coverage, query_terms
from handlers.results.patterns import Patterns
from handlers.results.sections import RetrievalEvaluationSection
from schemas.outcome import Emit, Outcome
from schemas.retrieval import (
    JudgeScores,
    ResultsClassified,
    RetrievalEvaluated,
    RetrievalScores,
    RetrievedContent,
    ScoreSource,
    SourceDetail,
    SourceScores,
)
from schemas.rules import Rules

_NOTHING_SAID = SourceScores(url="")


class EvaluateRetrievalRules(Rules):
    """Everything that ``evaluate_retrieval`` decides by."""

    retrievalEvaluation: RetrievalEvaluationSection  # noqa: N815 - the section's name comes from the source document
    patterns: Patterns

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words of a query that say nothing of its subject, in all languages."""
        return frozenset(word for pack in self.patterns.values() for word in pack.stop_words)


def evaluate_retrieval(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> Outcome:
    """Evaluates a classified batch.

    All scores lie in [0, 1]. ``passed`` holds where every dimension reaches its threshold (R-052, C-09); an empty
    batch scores 0 and does not pass (R-042). ``score_source`` says who gave the numbers. Sources: R-050 to R-062.
    """
    section = rules.retrievalEvaluation
    # Nothing was found: a judge's numbers on it would be of something else.
    given = batch.judge_scores if batch.results else None
    judged = given or _fallback(batch, rules)
    source = ScoreSource.GIVEN if given else ScoreSource.FALLBACK
    scores = RetrievalScores(
        context_recall=judged.context_recall,
        context_precision=judged.context_precision,
        source_quality=judged.source_quality,
        actionable_information=batch.actionable_information,
    )
    overall = _overall(scores, section)
    evaluated = RetrievalEvaluated(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        passed=bool(batch.results) and _passes(scores, section),
        scores=scores,
        overall_score=overall,
        severe_failure=overall < section.severeFailureBelow,
        score_source=source,
        source_details=_details(batch, scores, given, source),
        needs_extraction=batch.needs_extraction,
        extraction_reason=batch.extraction_reason,
        improvement=batch.improvement,
        config_version=rules.config_version,
    )
    return Emit((evaluated,))


def _overall(scores: RetrievalScores, section: RetrievalEvaluationSection) -> float:
    weights = section.weights
    return round(
        weights.contextRecall * scores.context_recall
        + weights.contextPrecision * scores.context_precision
        + weights.sourceQuality * scores.source_quality
        + weights.actionableInformation * scores.actionable_information,
        6,
    )


def _passes(scores: RetrievalScores, section: RetrievalEvaluationSection) -> bool:
    least = section.dimensionThresholds
    return (
        scores.context_recall >= least.contextRecall
        and scores.context_precision >= least.contextPrecision
        and scores.source_quality >= least.sourceQuality
        and scores.actionable_information >= least.actionableInformation
    )


def _details(
    batch: ResultsClassified, scores: RetrievalScores, judge: JudgeScores | None, source: ScoreSource
) -> tuple[SourceDetail, ...]:
    """Relevance is the mean of recall and precision, quality that of the sources, for each alike (R-061).

    What a judge says of a single source takes their place there, and the detail says who said it (C-08).
    """
    relevance = round((scores.context_recall + scores.context_precision) / 2, 6)
    own: dict[str, SourceScores] = {}
    for said in (judge and judge.sources) or ():
        if said.relevance_score is not None or said.quality_score is not None:
            own.setdefault(_same(said.url), said)
    details = []
    for result in batch.results:
        judged = own.get(_same(result.url), _NOTHING_SAID)
        detail = SourceDetail(
            url=result.url,
            relevance_score=_either(judged.relevance_score, relevance),
            quality_score=_either(judged.quality_score, scores.source_quality),
            result_type=result.result_type,
            actionable_score=result.actionable_score,
            score_source=None if judged is _NOTHING_SAID else source,
        )
        details.append(detail)
    return tuple(details)


def _either(own: float | None, of_all: float) -> float:
    return of_all if own is None else own


def _same(url: str) -> str:
    """Under which two spellings of an address are one source."""
    return canonical_url(url) or url


def _fallback(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> JudgeScores:
    """Recall: terms of the query that the batch covers. Precision: share of results that cover enough of them.

    Quality: mean trust score over 100 where it is known, else the configured value.
    """
    section = rules.retrievalEvaluation
    terms = query_terms(batch.query, rules.stop_words)
    contents = batch.retrieved_content
    texts = [f"{content.title or ''}\n{content.content}" for content in contents]
    relevant = sum(bool(terms) and coverage(terms, text) >= section.coverageThreshold for text in texts)
    count = len(texts)
    return JudgeScores(
        context_recall=round(coverage(terms, "\n".join(texts)), 4),
        context_precision=round(relevant / count, 4) if count else 0.0,
        source_quality=round(sum(_quality(content, section) for content in contents) / count, 4) if count else 0.0,
    )


def _quality(content: RetrievedContent, section: RetrievalEvaluationSection) -> float:
    return section.unknownSourceQuality if content.cts_score is None else content.cts_score / 100
