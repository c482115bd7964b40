"""Is each result the thing itself, a listing of such things, or a way to elsewhere; and should the listings be fetched?

In: a retrieval batch. Out: the batch with every distinct result classified; where most of it is listings and too little
of it can be acted on, also the listings to fetch, and one ``ExtractionNeeded`` for each that the budget allows.
"""

from __future__ import annotations

from collections.abc import Sequence

from handlers.html.content import PageFacts, orders_of
from handlers.html.links import canonical_url, page_id_of
from handlers.indexing.config import SourcedRules, TrustLabelsSection, TrustPointsSection, source_at
from handlers.prompts.untrusted import beginning
from handlers.results.batch import (
    ExtractionSection,
    RetrievalEvaluationSection,
    distinct_results,
    judge_batch,
    share_details,
)
from handlers.results.classifier import ClassifierRules
from handlers.retrieval.facets import fallback_scores
from handlers.retrieval.query import QueryRules
from handlers.trust.labels import LABELS, Thresholds, label_for
from handlers.trust.score import Observations, ScorePoints, score_trust
from handlers.trust.sources import Source
from schemas.event import derive_id
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.outcome import Emit, Outcome
from schemas.replies import FetchFailure
from schemas.retrieval import (
    ClassifiedResult,
    ExtractionTarget,
    JudgeScores,
    ResultsClassified,
    ResultType,
    RetrievalBatch,
    RetrievedContent,
)
from schemas.states import State

_HIGHEST = 100


class ClassifyResultsRules(SourcedRules, ClassifierRules, QueryRules):
    """Everything that ``classify_results`` decides by."""

    retrievalEvaluation: RetrievalEvaluationSection  # noqa: N815 - the section's name comes from the source document
    extraction: ExtractionSection
    trust_points: TrustPointsSection
    trust_labels: TrustLabelsSection


def classify_results(batch: RetrievalBatch, rules: ClassifyResultsRules) -> Outcome:
    """Tells the results of a batch apart and says which listings to fetch.

    Results with the same canonical address are one. Actionable scores lie in [0, 1], inside the band of their type
    (R-030); an empty batch scores 0 and needs nothing (R-042). Listings with an http(s) address are fetched while the
    batch's attempt is within the hop limit (R-070); where none is fetched, no extraction is needed. Sources: R-020 to
    R-043, R-054 to R-057, R-067.
    """
    distinct = distinct_results(batch.retrieved_content)
    read = [_with_trust(*rules.classifier.read(result), rules) for result in distinct]
    results = tuple(result for _, result in read)
    threshold = rules.retrievalEvaluation.dimensionThresholds.actionableInformation
    verdict = judge_batch(results, threshold)
    targets = _targets(batch, results, rules.extraction) if verdict.extraction_reason is not None else []
    needed = [
        ExtractionNeeded(
            extraction_id=target.extraction_id,
            batch_id=batch.batch_id,
            request_id=batch.request_id,
            query=batch.query,
            reason=ExtractionTrigger.AGGREGATOR_DETECTED,
            extraction_reason=verdict.extraction_reason or "",
            target_url=target.url,
            page_id=target.page_id,
            follow=True,
            attempt=batch.attempt,
            actionable_information=verdict.actionable_information,
            max_details=details,
        )
        for target, details in targets
        if details
    ]
    before = batch.previous_actionable_information
    contents = [content for content, _ in read]
    classified = ResultsClassified(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        request_id=batch.request_id,
        requested_at=batch.requested_at,
        results=results,
        duplicates=len(batch.retrieved_content) - len(distinct),
        counts=verdict.counts,
        actionable_information=verdict.actionable_information,
        confidence=verdict.confidence,
        needs_extraction=bool(needed),
        needs_render=tuple(result.url for result in results if result.state is State.NEEDS_RENDER),
        extraction_reason=verdict.extraction_reason if needed else None,
        extraction_targets=tuple(target for target, _ in targets),
        improvement=None if before is None else round(verdict.actionable_information - before, 4),
        retrieved_content=_for_the_judge(contents, rules.retrievalEvaluation),
        judge_scores=batch.judge_scores,
        fallback_scores=None if batch.judge_scores else _fallback(batch, contents, results, rules),
        config_version=rules.config_version,
    )
    return Emit((classified, *needed))


def _with_trust(
    read: RetrievedContent, classified: ClassifiedResult, facts: PageFacts | None, rules: ClassifyResultsRules
) -> tuple[RetrievedContent, ClassifiedResult]:
    """The result with a trust score where its page or its source gives one, and with the standing of its source."""
    if classified.page_id is None:
        return read, classified
    source = source_at(classified.url, None, "", rules.compiled_sources)
    added = [source.because] if source.standing == "contested" else []
    added += [because] if facts and (because := orders_of(facts)) else []
    classified = classified.model_copy(update={"source": source.standing, "reasons": (*classified.reasons, *added)})
    if read.cts_score is not None:
        return read, classified
    points, labels = rules.trust_points.points, rules.trust_labels.thresholds
    score = 0.0 if classified.state is not State.CONTENT else score_result(facts, source, points, labels)
    return read.model_copy(update={"cts_score": score}), classified


def _fallback(
    batch: RetrievalBatch,
    contents: Sequence[RetrievedContent],
    results: Sequence[ClassifiedResult],
    rules: ClassifyResultsRules,
) -> JudgeScores:
    limit = rules.extraction.max_text_characters
    facets = rules.queries.read(batch.query, batch.requested_at)
    return fallback_scores(facets, contents, results, rules.retrievalEvaluation, rules.queries.see, limit)


def _for_the_judge(
    contents: Sequence[RetrievedContent], section: RetrievalEvaluationSection
) -> tuple[RetrievedContent, ...]:
    """The results with as much of their texts as the judge of the batch is shown."""
    longest = section.maxSourceCharacters
    return tuple(
        content.model_copy(
            update={"content": beginning(content.content, longest) if place < section.maxSources else ""}
        )
        for place, content in enumerate(contents)
    )


def _targets(
    batch: RetrievalBatch, results: tuple[ClassifiedResult, ...], limits: ExtractionSection
) -> list[tuple[ExtractionTarget, int]]:
    """The listings with an http(s) address, in the order of the results, and how many details each may fetch."""
    if batch.attempt > limits.hop_limit:
        return []
    listings = [result.url for result in results if result.result_type is ResultType.AGGREGATOR]
    found = [(url, canonical) for url in listings if (canonical := canonical_url(url))]
    targets = []
    for (url, canonical), details in zip(found, share_details(len(found), limits), strict=True):
        extraction_id = derive_id("extraction", batch.batch_id, canonical)
        skipped = None if details else FetchFailure.OVER_BUDGET
        target = ExtractionTarget(url=url, page_id=page_id_of(url), extraction_id=extraction_id, skipped=skipped)
        targets.append((target, details))
    return targets


def score_result(facts: PageFacts | None, source: Source, points: ScorePoints, labels: Thresholds) -> float | None:
    """The score of a page, as ``score_page`` has it. Without a page that can be read, that of the source."""
    if facts is None:
        return _of_source(source, labels)
    score = score_trust(source.base_score, "", Observations.of(facts), points).total
    if score <= source.base_score and source.standing == "unlisted":
        return None  # nothing is known of the page
    return score


def _of_source(source: Source, labels: Thresholds) -> float | None:
    """The middle of the scores with the label of a listed source (C-41), 0 for a contested one."""
    if source.standing != "listed":
        return None if source.standing == "unlisted" else 0.0
    begins = _HIGHEST, labels.upper, labels.middle, 0
    place = LABELS.index(label_for(None, source.tier, labels).label)
    return (begins[place] + begins[place + 1]) / 2
