"""Is each result the thing itself, a listing of such things, or a way to elsewhere; and should the listings be fetched?

In: a retrieval batch. Out: the batch with every result classified, and one ``ExtractionNeeded`` for each listing where
most of the batch is listings and too little of it can be acted on. Search engines like to answer with listings; taken
for answers they end in "have a look at the calendar".
"""

from __future__ import annotations

from functools import cached_property

from pydantic import Field

from handlers.page.links import canonical_url
from handlers.page.reading import PageReadingSection
from handlers.page.refusals import PageRefusalsSection
from handlers.results.classifier import ResultClassifier
from handlers.results.extraction import ExtractionSection, share_details
from handlers.results.patterns import Patterns
from handlers.results.sections import ClassificationSection, RetrievalEvaluationSection
from handlers.results.trained import ResultTrees
from handlers.results.verdict import Verdict, judge_batch
from schemas.event import derive_id
from schemas.extraction import ExtractionNeeded, ExtractionTrigger
from schemas.outcome import Emit, Outcome
from schemas.retrieval import ClassifiedResult, ResultsClassified, ResultType, RetrievalBatch
from schemas.rules import Rules


class ClassifyResultsRules(Rules):
    """Everything that ``classify_results`` decides by."""

    classification: ClassificationSection
    patterns: Patterns
    retrievalEvaluation: RetrievalEvaluationSection  # noqa: N815 - the section's name comes from the source document
    extraction: ExtractionSection
    page_reading: PageReadingSection
    page_refusals: PageRefusalsSection
    result_trees: ResultTrees = Field(default_factory=ResultTrees)

    @cached_property
    def classifier(self) -> ResultClassifier:
        """The classifier under these rules; its patterns are compiled once."""
        return ResultClassifier(
            self.classification, self.patterns, self.page_reading, self.page_refusals, self.result_trees
        )


def classify_results(batch: RetrievalBatch, rules: ClassifyResultsRules) -> Outcome:
    """Tells the results of a batch apart and says which listings to fetch.

    Actionable scores lie in [0, 1], inside the band of their type (R-030); an empty batch scores 0 and needs nothing
    (R-042). Extractions are asked for while the batch's attempt is within the hop limit (R-070), once for each
    canonical address. Sources: R-020 to R-043, R-054 to R-057, R-067.
    """
    results = tuple(rules.classifier.classify(result) for result in batch.retrieved_content)
    threshold = rules.retrievalEvaluation.dimensionThresholds.actionableInformation
    verdict = judge_batch(results, threshold)
    before = batch.previous_actionable_information
    limit = rules.extraction.max_text_characters
    classified = ResultsClassified(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        request_id=batch.request_id,
        results=results,
        counts=verdict.counts,
        actionable_information=verdict.actionable_information,
        confidence=verdict.confidence,
        needs_extraction=verdict.needs_extraction,
        extraction_reason=verdict.extraction_reason,
        improvement=None if before is None else round(verdict.actionable_information - before, 4),
        retrieved_content=tuple(
            result.model_copy(update={"html": None, "content": result.content[:limit]})
            for result in batch.retrieved_content
        ),
        judge_scores=batch.judge_scores,
        config_version=rules.config_version,
    )
    return Emit((classified, *_extractions(batch, results, verdict, rules.extraction)))


def _extractions(
    batch: RetrievalBatch, results: tuple[ClassifiedResult, ...], verdict: Verdict, limits: ExtractionSection
) -> list[ExtractionNeeded]:
    """One for each listing with an http(s) address, in the order of the results; they share the batch's budget."""
    if verdict.extraction_reason is None or batch.attempt > limits.hop_limit:
        return []
    listings = [result.url for result in results if result.result_type is ResultType.AGGREGATOR]
    targets = {canonical: url for url in reversed(listings) if (canonical := canonical_url(url))}
    shares = share_details(len(targets), limits)
    return [
        ExtractionNeeded(
            extraction_id=derive_id("extraction", batch.batch_id, canonical),
            batch_id=batch.batch_id,
            request_id=batch.request_id,
            query=batch.query,
            reason=ExtractionTrigger.AGGREGATOR_DETECTED,
            extraction_reason=verdict.extraction_reason,
            target_url=url,
            follow=True,
            attempt=batch.attempt,
            actionable_information=verdict.actionable_information,
            hop=batch.attempt,
            max_details=max(1, details),
            over_budget=not details,
        )
        for (canonical, url), details in zip(reversed(targets.items()), shares, strict=True)
    ]
