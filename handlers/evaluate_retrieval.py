"""Does a batch answer its query? Four dimensions, a verdict, and the scores of each source.

In: a classified batch. Out: ``RetrievalEvaluated``. Recall, precision and quality come with the batch or from a judge;
if it fails, from a comparison of the query with the results. A batch never passes by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from handlers.html.links import canonical_url
from handlers.indexing.config import SourcedRules, TrustLabelsSection, source_at
from handlers.prompts.replies import StrictReply, read_reply
from handlers.prompts.template import AskingRules
from handlers.prompts.untrusted import Block, one_line
from handlers.results.batch import RetrievalEvaluationSection
from handlers.retrieval.facets import fallback_scores
from handlers.retrieval.query import QueryRules
from handlers.trust.labels import label_mark, label_of
from schemas.event import MAX_ITEMS, Score
from schemas.llm import CamelLlmCall, LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit, Outcome
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
from schemas.states import State

TASK = "evaluate_retrieval"
_SIGNED_IN = frozenset((State.LOGIN, State.PAYWALL))


class EvaluateRetrievalRules(AskingRules, SourcedRules, QueryRules):
    """The configuration of ``evaluate_retrieval``."""

    retrievalEvaluation: RetrievalEvaluationSection  # noqa: N815 - the section's name comes from the source document
    trust_labels: TrustLabelsSection


class _StrictCamel(StrictReply):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=False)


class JudgedSource(_StrictCamel):
    """The judge's scores of one source; ``number``, from 1, is that in the prompt."""

    number: Annotated[int, Field(ge=1)]
    relevance: Score
    quality: Score


class RetrievalReply(_StrictCamel):
    """The judge's scores of a batch."""

    context_recall: Score
    context_precision: Score
    source_quality: Score
    sources: list[JudgedSource] = Field(max_length=MAX_ITEMS, fail_fast=True)


@dataclass(frozen=True, slots=True)
class _Source:
    """The scores of one result, None if it has none of its own. ``cts``: the quality is its trust score."""

    relevance: float | None = None
    quality: float | None = None
    cts: bool = False

    @property
    def is_judged(self) -> bool:
        return self.relevance is not None or (self.quality is not None and not self.cts)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The dimensions, their source, and the scores of single results by their places."""

    by: ScoreSource
    scores: JudgeScores
    sources: Mapping[int, _Source] = field(default_factory=dict)


def evaluate_retrieval(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> Outcome | Ask:
    """Evaluates a classified batch, or asks a judge for recall, precision and quality if the batch has none.

    ``passed`` holds if every dimension reaches its threshold (R-052, C-09); an empty batch scores 0 and does not pass
    (R-042). Whether extraction is needed was decided before and depends on no judge. Sources: R-050 to R-062, R-069.
    """
    given = batch.judge_scores if batch.results else None
    if given is None:
        fallback = _fallback(batch, rules)
        # Without a readable result, a judge would score something else.
        if batch.results and batch.retrieved_content:
            return Ask(_question(batch, rules, fallback), fallback)
        return _verdict(batch, rules, _Judged(ScoreSource.FALLBACK, fallback))
    own: dict[str, _Source] = {}
    for said in given.sources or ():
        if (source := _Source(said.relevance_score, said.quality_score)).is_judged:
            own.setdefault(_same(said.url), source)
    urls = [_same(result.url) for result in batch.results]
    sources = {place: own[url] for place, url in enumerate(urls) if url in own}
    return _verdict(batch, rules, _Judged(ScoreSource.GIVEN, given, sources))


def read_retrieval(
    batch: ResultsClassified,
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...],
    rules: EvaluateRetrievalRules,
    fallback: JudgeScores | None = None,
) -> Outcome:
    """Goes on with the judge's reply. An outage decides nothing; a failed reply leaves the fallback."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return reply.retry()
    shown = min(len(batch.retrieved_content), rules.retrievalEvaluation.maxSources)
    said = read_retrieval_reply(reply.text, shown) if isinstance(reply, ModelReply) else None
    if said is None:
        judged = _Judged(ScoreSource.FALLBACK, fallback or _fallback(batch, rules))
    elif reply.call.judged_by == "offline":
        judged = _Judged(ScoreSource.FALLBACK, JudgeScores(**said.model_dump(exclude={"sources", "gaps"})))
    else:
        judged = _judged(batch, said)
    return _verdict(batch, rules, judged, reply.call)


def read_retrieval_reply(text: str, shown: int) -> RetrievalReply | None:
    """The reply; None outside of the protocol, or if it names a source that was not shown, or one twice.

    >>> said = '{"contextRecall": 0.5, "contextPrecision": 1, "sourceQuality": 0, "sources": [%s]}'
    >>> read_retrieval_reply(said % "", 0).context_precision
    1.0
    >>> read_retrieval_reply(said % '{"number": 2, "relevance": 1, "quality": 1}', 1) is None
    True
    """
    reply = read_reply(RetrievalReply, text)
    numbers = [source.number for source in reply.sources] if reply else []
    return reply if len(set(numbers)) == len(numbers) and max(numbers, default=0) <= shown else None


def _question(batch: ResultsClassified, rules: EvaluateRetrievalRules, fallback: JudgeScores) -> AskModel:
    section = rules.retrievalEvaluation
    shown = batch.retrieved_content[: section.maxSources]
    sources = [_shown(number, content, rules) for number, content in enumerate(shown, 1)]
    facts = {**fallback.model_dump(by_alias=True, exclude_none=True, exclude={"gaps"}), "sourcesShown": len(shown)}
    query = batch.query[: section.maxSourceCharacters]
    return rules.ask(TASK, {}, {"sources": sources, "query": query}, facts, RetrievalReply)


def _shown(number: int, content: RetrievedContent, rules: EvaluateRetrievalRules) -> Block:
    """A source as the judge sees it. Its trust score is shown as a label only (R-253)."""
    longest, label = rules.retrievalEvaluation.maxSourceCharacters, ""
    fields = {"title": content.title or "", "url": content.url, "text": content.content}
    lines = {name: one_line(text, longest) for name, text in fields.items()}
    if content.cts_score is not None:
        source = source_at(content.url, None, "", rules.compiled_sources)
        thresholds = rules.trust_labels.thresholds
        label = label_mark(label_of(int(content.cts_score), source.tier, thresholds, source.standing))
    return Block(f"source {number}", {name: line for name, line in lines.items() if line}, label)


def _judged(batch: ResultsClassified, said: RetrievalReply) -> _Judged:
    """The judgement of a model. A content trust score replaces the quality of its source (C-10, C-54).

    The batch's quality is then the mean over its sources.
    """
    scores = JudgeScores(**said.model_dump(exclude={"sources", "gaps"}))
    by_number, contents = {source.number: source for source in said.sources}, batch.retrieved_content
    sources: dict[int, _Source] = {}
    for place in range(len(batch.results)):
        own, cts = by_number.get(place + 1), contents[place].cts_score if place < len(contents) else None
        source = _Source(own.relevance, own.quality) if own else _Source()
        sources[place] = source if cts is None else _Source(source.relevance, round(cts / 100, 6), cts=True)
    if any(source.cts for source in sources.values()):
        each = [_either(source.quality, scores.source_quality) for source in sources.values()]
        scores = scores.model_copy(update={"source_quality": round(sum(each) / len(each), 6)})
    return _Judged(ScoreSource.MODEL, scores, sources)


def _verdict(
    batch: ResultsClassified, rules: EvaluateRetrievalRules, judged: _Judged, call: LlmCall | None = None
) -> Emit:
    section = rules.retrievalEvaluation
    dimensions = judged.scores.model_dump(exclude={"sources", "gaps"})
    scores = RetrievalScores(**dimensions, actionable_information=batch.actionable_information)
    weights = section.weights.model_dump()
    overall = round(sum(weights[name] * score for name, score in scores.to_wire().items()), 6)
    has_content = any(result.state is State.CONTENT for result in batch.results)
    passed = has_content and _passes(scores, section)
    evaluated = RetrievalEvaluated(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        request_id=batch.request_id,
        passed=passed,
        scores=scores,
        overall_score=overall,
        severe_failure=overall < section.severeFailureBelow,
        score_source=judged.by,
        source_details=_details(batch, scores, judged),
        next_step=_next_step(batch, scores, section, passed=passed),
        needs_render=batch.needs_render,
        needs_extraction=batch.needs_extraction,
        extraction_reason=batch.extraction_reason,
        extraction_targets=batch.extraction_targets,
        improvement=batch.improvement,
        gaps=() if passed or batch.fallback_scores is None else batch.fallback_scores.gaps,
        reasons=tuple(
            source_at(result.url, None, "", rules.compiled_sources).because
            for result in batch.results
            if result.source == "contested"
        ),
        llm=CamelLlmCall(**dict(call)) if call else None,
        config_version=rules.config_version,
    )
    return Emit((evaluated,))


def _next_step(
    batch: ResultsClassified, scores: RetrievalScores, section: RetrievalEvaluationSection, *, passed: bool
) -> NextStep:
    """The next step for an orchestrator."""
    if passed:
        return NextStep.ANSWER
    if batch.needs_extraction:
        return NextStep.AWAIT_EXTRACTION
    items = [result.actionable_score for result in batch.results if result.result_type is ResultType.SPECIFIC_CONTENT]
    of_items = scores.model_copy(update={"actionable_information": sum(items) / len(items) if items else 0.0})
    if items and _passes(of_items, section):
        return NextStep.ANSWER_FROM_ITEMS
    if batch.needs_render:
        return NextStep.RENDER
    states = {result.state for result in batch.results}
    return NextStep.SIGN_IN if states and states <= _SIGNED_IN else NextStep.SEARCH_AGAIN


def _passes(scores: RetrievalScores, section: RetrievalEvaluationSection) -> bool:
    least = section.dimensionThresholds.model_dump()
    return all(score >= least[name] for name, score in scores.to_wire().items())


def _details(batch: ResultsClassified, scores: RetrievalScores, judged: _Judged) -> tuple[SourceDetail, ...]:
    """For each source: the mean of recall and precision, and the batch's quality (R-061), or its own scores (C-08)."""
    relevance = round((scores.context_recall + scores.context_precision) / 2, 6)
    own = [judged.sources.get(place, _Source()) for place in range(len(batch.results))]
    return tuple(
        SourceDetail(
            url=result.url,
            page_id=result.page_id,
            relevance_score=_either(said.relevance, relevance),
            quality_score=_either(said.quality, scores.source_quality),
            result_type=result.result_type,
            actionable_score=result.actionable_score,
            score_source=judged.by if said.is_judged else None,
            quality_source="cts" if said.cts else None,
        )
        for result, said in zip(batch.results, own, strict=True)
    )


def _either(own: float | None, of_all: float) -> float:
    return of_all if own is None else own


def _same(url: str) -> str:
    """One form for all spellings of an address."""
    return canonical_url(url) or url


def _fallback(batch: ResultsClassified, rules: EvaluateRetrievalRules) -> JudgeScores:
    """The scores that the event has, which has none if a caller gave the judge's scores."""
    if batch.fallback_scores is not None:
        return batch.fallback_scores
    facets = rules.queries.read(batch.query, batch.requested_at)
    return fallback_scores(facets, batch.retrieved_content, batch.results, rules.retrievalEvaluation, rules.queries.see)
