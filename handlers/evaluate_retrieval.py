"""Does a batch answer its query? Four dimensions, a verdict, and how each source fared.

In: a classified batch. Out: ``RetrievalEvaluated``. Recall, precision and quality are those that came with the batch;
where none did, a judge is asked; where it fails or nobody is there, they are computed from what the query asks for and
what the results hold. The event says which. A judge may score single sources too. A batch never passes by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from handlers.html.links import canonical_url
from handlers.indexing.config import (
    SourceRulesSection,
    SourcesSection,
    SourceTiersSection,
    TrustLabelsSection,
    source_at,
    source_rules_of,
)
from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Prompts, render
from handlers.prompts.untrusted import Block
from handlers.relevance.sections import RelevanceGateSection
from handlers.results.sections import RetrievalEvaluationSection
from handlers.retrieval.facets import QueryReader, answers, met, share_of, with_missing_weighed
from handlers.retrieval.replies import BATCH_SCHEMA, RetrievalReply, read_retrieval_reply
from handlers.text.patterns import Patterns
from handlers.trust.labels import label_mark, label_of
from handlers.trust.sources import SourceRules
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from schemas.retrieval import (
    JudgeScores,
    NextStep,
    ResultsClassified,
    ResultType,
    RetrievalEvaluated,
    RetrievalScores,
    RetrievedContent,
    ScoreSource,
    SourceDetail,
)
from schemas.rules import Rules

TASK = "evaluate_retrieval"


class EvaluateRetrievalRules(Rules):
    """Everything that ``evaluate_retrieval`` decides by."""

    retrievalEvaluation: RetrievalEvaluationSection  # noqa: N815 - the section's name comes from the source document
    trust_labels: TrustLabelsSection
    sources: SourcesSection
    source_tiers: SourceTiersSection
    source_rules: SourceRulesSection
    patterns: Patterns
    relevance_gate: RelevanceGateSection
    model_tasks: ModelTasks
    prompts: Prompts

    @cached_property
    def reader(self) -> QueryReader:
        """Reads queries and results under these rules; its word lists are compiled once."""
        gate = self.relevance_gate
        return QueryReader(self.patterns, (), gate.plain_words, gate.same_words)

    @cached_property
    def compiled_sources(self) -> SourceRules:
        """Lists, kinds and suffixes of sources; their tiers bound the labels that the judge is shown."""
        return source_rules_of(self.sources, self.source_tiers, self.source_rules)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is said of one result; None where nothing is. ``cts``: whether the quality is its trust score."""

    relevance: float | None = None
    quality: float | None = None
    cts: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    """The dimensions, who gave them, and what is said of single results, in their order."""

    by: ScoreSource
    scores: JudgeScores
    sources: tuple[_Source, ...]


def evaluate_retrieval(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> Outcome | Ask:
    """Evaluates a classified batch, or asks a judge for recall, precision and quality where nobody gave them.

    All scores lie in [0, 1]. ``passed`` holds where every dimension reaches its threshold (R-052, C-09); an empty
    batch scores 0 and does not pass (R-042). ``score_source`` says who gave the numbers. Whether extraction is needed
    was decided before and depends on no judge. Sources: R-050 to R-062, R-069.
    """
    if not batch.results or not batch.retrieved_content:
        # Nothing was found, or nothing can be read: a judge's numbers on it would be of something else.
        given = batch.judge_scores if batch.results else None
    elif (given := batch.judge_scores) is None:
        return Ask(_question(batch, rules))
    if given is None:
        return _verdict(batch, rules, _unjudged(batch, _fallback(batch, rules)))
    own: dict[str, _Source] = {}
    for said in given.sources or ():
        if said.relevance_score is not None or said.quality_score is not None:
            own.setdefault(_same(said.url), _Source(said.relevance_score, said.quality_score))
    sources = tuple(own.get(_same(result.url), _Source()) for result in batch.results)
    return _verdict(batch, rules, _Judged(ScoreSource.GIVEN, given, sources))


def read_retrieval(
    batch: ResultsClassified,
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...],
    rules: EvaluateRetrievalRules,
) -> Outcome:
    """Goes on with what the judge said. An outage decides nothing; where one answer failed, the fallback stands."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    shown = min(len(batch.retrieved_content), rules.retrievalEvaluation.maxSources)
    said = read_retrieval_reply(reply.text, shown) if isinstance(reply, ModelReply) else None
    if said is None:
        return _verdict(batch, rules, _unjudged(batch, _fallback(batch, rules)), reply.call)
    if reply.call.judged_by == "offline":
        # Its numbers are the fallback's.
        return _verdict(batch, rules, _unjudged(batch, _scores(said)), reply.call)
    return _verdict(batch, rules, _judged(batch, said), reply.call)


def _question(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> AskModel:
    section = rules.retrievalEvaluation
    template, asked = rules.prompts[TASK], rules.model_tasks[TASK]
    shown = batch.retrieved_content[: section.maxSources]
    sources = [_shown(number, content, rules) for number, content in enumerate(shown, 1)]
    query = batch.query[: section.maxSourceCharacters]
    messages = render(template, {}, {"sources": sources, "query": query})
    facts = {**_fallback(batch, rules).to_wire(), "sourcesShown": len(shown)}
    return AskModel(TASK, template.version, messages, facts, asked.max_tokens, asked.temperature, schema=BATCH_SCHEMA)


def _shown(number: int, content: RetrievedContent, rules: EvaluateRetrievalRules) -> Block:
    """A source as the judge sees it. Its trust score is shown as a label only (R-253)."""
    longest = rules.retrievalEvaluation.maxSourceCharacters
    fields = {"title": content.title or "", "url": content.url, "text": content.content}
    shown = {name: line for name, text in fields.items() if (line := _line(text, longest))}
    return Block(f"source {number}", shown, _label(content, rules))


def _label(content: RetrievedContent, rules: EvaluateRetrievalRules) -> str:
    if content.cts_score is None:
        return ""
    tier = source_at(content.url, None, "", rules.compiled_sources).tier
    return label_mark(label_of(int(content.cts_score), tier, rules.trust_labels.thresholds))


def _line(text: str, longest: int) -> str:
    """A text on one line; what is made of it can take no more than it has room for."""
    return " ".join(text[: 4 * longest].split())[:longest]


def _unjudged(batch: ResultsClassified, scores: JudgeScores) -> _Judged:
    return _Judged(ScoreSource.FALLBACK, scores, (_Source(),) * len(batch.results))


def _scores(said: RetrievalReply) -> JudgeScores:
    return JudgeScores(
        context_recall=said.context_recall,
        context_precision=said.context_precision,
        source_quality=said.source_quality,
    )


def _judged(batch: ResultsClassified, said: RetrievalReply) -> _Judged:
    """What a model said, with content trust scores as the quality of sources that have one (C-10, C-54).

    The batch's quality is the mean over its sources then; where no source has a trust score, it is the model's.
    """
    scores = _scores(said)
    by_number = {source.number: source for source in said.sources}
    sources = []
    for position in range(len(batch.results)):
        own = by_number.get(position + 1)
        relevance, quality = (own.relevance, own.quality) if own else (None, None)
        cts = batch.retrieved_content[position].cts_score if position < len(batch.retrieved_content) else None
        sources.append(_Source(relevance, quality if cts is None else round(cts / 100, 6), cts is not None))
    if any(source.cts for source in sources):
        each = [_either(source.quality, scores.source_quality) for source in sources]
        scores = scores.model_copy(update={"source_quality": round(sum(each) / len(each), 6)})
    return _Judged(ScoreSource.MODEL, scores, tuple(sources))


def _verdict(
    batch: ResultsClassified, rules: EvaluateRetrievalRules, judged: _Judged, call: LlmCall | None = None
) -> Emit:
    section = rules.retrievalEvaluation
    scores = RetrievalScores(
        context_recall=judged.scores.context_recall,
        context_precision=judged.scores.context_precision,
        source_quality=judged.scores.source_quality,
        actionable_information=batch.actionable_information,
    )
    overall = _overall(scores, section)
    passed = bool(batch.results) and _passes(scores, section)
    evaluated = RetrievalEvaluated(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        passed=passed,
        scores=scores,
        overall_score=overall,
        severe_failure=overall < section.severeFailureBelow,
        score_source=judged.by,
        source_details=_details(batch, scores, judged),
        next_step=_next_step(batch, scores, section, passed=passed),
        needs_extraction=batch.needs_extraction,
        extraction_reason=batch.extraction_reason,
        extraction_targets=batch.extraction_targets,
        improvement=batch.improvement,
        llm=call,
        config_version=rules.config_version,
    )
    return Emit((evaluated,))


def _next_step(
    batch: ResultsClassified, scores: RetrievalScores, section: RetrievalEvaluationSection, *, passed: bool
) -> NextStep:
    """What an orchestrator should do, so that no verdict leaves it waiting for something that does not come."""
    if passed:
        return NextStep.ANSWER
    if batch.needs_extraction:
        return NextStep.AWAIT_EXTRACTION
    items = [result.actionable_score for result in batch.results if result.result_type is ResultType.SPECIFIC_CONTENT]
    of_items = scores.model_copy(update={"actionable_information": sum(items) / len(items) if items else 0.0})
    return NextStep.ANSWER_FROM_ITEMS if _passes(of_items, section) else NextStep.SEARCH_AGAIN


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


def _details(batch: ResultsClassified, scores: RetrievalScores, judged: _Judged) -> tuple[SourceDetail, ...]:
    """Relevance is the mean of recall and precision, quality that of the sources, for each alike (R-061).

    What a judge says of a single source takes their place there, and the detail says who said it (C-08).
    """
    relevance = round((scores.context_recall + scores.context_precision) / 2, 6)
    details = []
    for result, said in zip(batch.results, judged.sources, strict=True):
        by_judge = said.relevance is not None or (said.quality is not None and not said.cts)
        detail = SourceDetail(
            url=result.url,
            relevance_score=_either(said.relevance, relevance),
            quality_score=_either(said.quality, scores.source_quality),
            result_type=result.result_type,
            actionable_score=result.actionable_score,
            score_source=judged.by if by_judge else None,
            quality_source="cts" if said.cts else None,
        )
        details.append(detail)
    return tuple(details)


def _either(own: float | None, of_all: float) -> float:
    return of_all if own is None else own


def _same(url: str) -> str:
    """Under which two spellings of an address are one source."""
    return canonical_url(url) or url


def _fallback(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> JudgeScores:
    """What is asked for, facet by facet, held against what the results hold.

    Recall: the share of the facets that some result meets. Precision: the share of results that answer, which no
    listing does: it leads to answers. Quality: mean trust score over 100 where it is known, else the configured value.
    """
    section, reader = rules.retrievalEvaluation, rules.reader
    facets = reader.read(batch.query)
    contents = batch.retrieved_content
    scores: list[list[float]] = []
    items: list[list[float]] = []
    for content, result in zip(contents, batch.results, strict=False):
        if result.actionable_score == 0.0:
            continue  # an error page, a wall: its words answer nothing
        is_listing = result.result_type is ResultType.AGGREGATOR
        seen = reader.see(content.title, content.content, result.evidence, is_listing=is_listing)
        scores.append([met(facet, seen) for facet in facets])
        if not is_listing:
            items.append(scores[-1])
    best = [max(of_results) for of_results in zip(*scores, strict=True)] or [0.0] * len(facets)
    weighed = with_missing_weighed(facets, scores) if scores else facets
    relevant = sum(answers(weighed, found, section.coverageThreshold) for found in items)
    count = len(contents)
    return JudgeScores(
        context_recall=round(share_of(facets, best), 4),
        context_precision=round(relevant / count, 4) if count else 0.0,
        source_quality=round(sum(_quality(content, section) for content in contents) / count, 4) if count else 0.0,
    )


def _quality(content: RetrievedContent, section: RetrievalEvaluationSection) -> float:
    return section.unknownSourceQuality if content.cts_score is None else content.cts_score / 100
