"""Decisions in words: a verdict on one line, and its reasons. For `assay why` and the console."""

from __future__ import annotations

from schemas.claims import ClaimEvaluated, ExtractedClaim, UtteranceIndexed, UtteranceRecorded
from schemas.dead import DeadLetter
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted, ExtractionNeeded
from schemas.outcome import Dead
from schemas.pages import CrawledPage, ScoredPage
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, RankingFeedback
from schemas.relevance import (
    RelevanceJudged,
    RelevanceRequested,
    SnippetExtracted,
    SnippetsCompleted,
    SnippetsRequested,
)
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated
from schemas.review import DecisionReviewed
from schemas.search import SearchEvaluated


def verdict_of(decision: Event | DeadLetter | Dead) -> str:
    """The decision on one line."""
    match decision:
        case DeadLetter():
            return f"dead letter of {decision.handler}: {decision.reason}"
        case Dead():
            return f"unreadable record: {decision.reason}"
        case RetrievalBatch():
            return f"attempt {decision.attempt}: {len(decision.retrieved_content)} results to judge"
        case ExtractedClaim():
            return f"claim to judge: {decision.claim_text}"
        case UtteranceRecorded():
            return f"utterance of {decision.source_id}"
        case UtteranceIndexed():
            return f"utterance {decision.change}"
        case SnippetsRequested():
            return f"snippets requested: {decision.query or decision.context or 'no query'}"
        case RelevanceRequested():
            return f"relevance requested: {decision.url}"
        case RankingRequested():
            return f"query: {decision.query}"
        case RankingFeedback():
            return f"feedback on {decision.url}"
        case CrawledPage():
            return f"crawled, {len(decision.body):,} {'bytes' if decision.html_base64 else 'characters'}"
        case ScoredPage():
            score = "no score" if decision.cts_score is None else f"score {decision.cts_score}"
            return f"{score}, tier {decision.tier}, label {decision.trust_label}"
        case DocumentIndexed():
            return f"index {decision.change}, tier {decision.tier}, {decision.points} points"
        case ResultsClassified():
            counts = decision.counts
            types = (
                f"{counts.specific_content} detail pages, {counts.aggregator} listings, {counts.navigation} navigation"
            )
            return f"attempt {decision.attempt}: {types}, actionable {decision.actionable_information:.2f}"
        case RetrievalEvaluated():
            passed = "passed" if decision.passed else "not passed"
            return f"attempt {decision.attempt}: {passed}, {decision.overall_score:.2f}; next step {decision.next_step}"
        case SearchEvaluated():
            return f"attempt {decision.attempt}: {decision.recommendation}, quality {decision.quality_score:.2f}"
        case ExtractionNeeded():
            return f"extraction needed: {decision.reason}, {decision.target_url}"
        case ExtractionCompleted():
            return f"extraction {decision.status}, {len(decision.fetched)} fetched, {len(decision.skipped)} skipped"
        case RelevanceJudged():
            return f"{decision.outcome}: {decision.url}"
        case SnippetExtracted():
            return f"snippet {decision.outcome}: {decision.url}"
        case SnippetsCompleted():
            return f"snippets completed, {len(decision.sources)} sources"
        case ClaimEvaluated():
            quality = decision.decontextualization_score
            return f"claim {decision.status}" if quality is None else f"claim {decision.band}, {quality:.2f}"
        case RankingCompleted():
            return f"ranked {len(decision.results)} results"
        case DecisionReviewed():
            return f"{decision.decision.handler} reviewed: {'right' if decision.right else 'wrong'}"
        case _:
            return type(decision).__name__


def reasons_of(decision: Event | DeadLetter | Dead) -> list[str]:
    """The reasons, in the order of the event."""
    match decision:
        case DeadLetter():
            return [decision.error]
        case Dead():
            return [decision.detail]
        case ScoredPage():
            points = [
                f"{line.points:+d} {line.reason}" if line.points else line.reason for line in decision.cts_breakdown
            ]
            return [
                *points,
                *(one.in_words() for one in decision.hidden_text),
                *(
                    [f"addresses a language model: {decision.injection_suspected}"]
                    if decision.injection_suspected
                    else []
                ),
            ]
        case ResultsClassified():
            each = [f"{one.result_type} {one.url}: {'; '.join(one.reasons)}" for one in decision.results]
            return [*([decision.extraction_reason] if decision.extraction_reason else []), *each]
        case RetrievalEvaluated():
            return [f"{name} {score:.2f}" for name, score in decision.scores.to_wire().items()]
        case SearchEvaluated():
            missing = [f"missing: {name}" for name in decision.missing_fields]
            return [*([decision.gaps] if decision.gaps else []), *missing]
        case ExtractionNeeded():
            return [decision.extraction_reason] if decision.extraction_reason else []
        case ExtractionCompleted():
            return [f"{one.reason}: {one.url}" for one in decision.skipped]
        case RelevanceJudged():
            return [text for text in (decision.detail, decision.summary_failure) if text]
        case SnippetExtracted():
            return [str(decision.snippet or decision.failure)]
        case SnippetsCompleted():
            return [f"{one.outcome}: {one.url}" for one in decision.sources]
        case ClaimEvaluated():
            return [text for text in (decision.detail, decision.exclusion) if text]
        case RankingCompleted():
            return [f"{note.stage}: {note.reason}" for note in decision.notes if note.reason]
        case DecisionReviewed():
            expected = f"expected {decision.expected}" if decision.expected else ""
            return [text for text in (expected, decision.note) if text]
        case _:
            return []
