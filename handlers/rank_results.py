"""Ranks results by how well they answer a query, with reasons, and makes the context for a model from them.

In: ``RankingRequested``, with candidates, or the index is searched. Then words, a judge, trees and diversity decide one
after another; each stage may be switched off. Out: ``RankingCompleted``, with results, a note of every stage, whether
nothing is relevant, and a context of passages under trust labels. No judge sees trust (C-39).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from handlers.html.links import NO_WEB_PAGE, page_id_of
from handlers.indexing.config import SourcedRules, TieredIndexingSection, TrustLabelsSection, source_at
from handlers.prompts.template import AskingRules
from handlers.ranking.candidates import Candidate, merge_hits, take_given
from handlers.ranking.config import RankingSection
from handlers.ranking.filters import BadFilter, fits, read_filters, search_for
from handlers.ranking.judge import ask_judge
from handlers.ranking.model import VERSION_PHASE_C, RankingModel
from handlers.ranking.query import ReadQuery, read_query
from handlers.reasoning.context import ReasoningSection, context_of, language_of, order_sources, source_blocks
from handlers.retrieval.query import QueryReader
from handlers.text.background import WordFrequenciesSection
from handlers.text.dates import MomentReader
from handlers.text.patterns import PatternRules, joined_words
from handlers.text.tokens import fold
from handlers.trust.labels import label_for, next_lower
from handlers.trust.sources import Source
from schemas.needs import Ask
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.queries import RankingRequested
from schemas.ranking import RankedResult, RankingCompleted, ReasoningMetadata, StageName, StageNote, StageOutcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply, VectorsReply, VectorsUnavailable

if TYPE_CHECKING:
    from handlers.ranking.stages import Standing, Weighed


_READ_FOR_CONDITIONS = 4000
"""Characters of a candidate in which what the query states is looked up."""


class RankResultsRules(AskingRules, SourcedRules, PatternRules):
    """The configuration of ``rank_results``."""

    ranking: RankingSection
    reasoning: ReasoningSection
    trust_labels: TrustLabelsSection
    tiered_indexing: TieredIndexingSection
    word_frequencies: WordFrequenciesSection
    ranking_model: RankingModel | None = None

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words without meaning for the subject of a query, in all languages."""
        return joined_words(self.patterns, "stop_words") | joined_words(self.patterns, "question_fillers")

    def read(self, query: str) -> ReadQuery:
        """A query as the stages read it."""
        return read_query(query, self.ranking.intent, self.stop_words, self.word_frequencies.compiled)

    @cached_property
    def conditions(self) -> QueryReader:
        """Reads what queries state and looks it up in candidates."""
        return QueryReader(self, self.word_frequencies.compiled, {})

    @cached_property
    def moments(self) -> MomentReader:
        """Reads the dates of a request's candidates."""
        return MomentReader(self.details)


@dataclass(frozen=True, slots=True)
class Begun:
    """A query before the judge is asked: the note of the retrieval, and the candidates with their words and vectors."""

    request: RankingRequested
    retrieved: StageNote
    weighed: Weighed


def rank_results(request: RankingRequested, rules: RankResultsRules) -> Outcome | Ask:
    """Searches the index; candidates of the request are filtered instead (R-230, R-232).

    Bad filters and a query without a word give no results and a note on the retrieval: the caller waits for an answer
    and would not see a dead letter.
    """
    if request.candidates is None and fold(request.query):
        search = search_for(request, rules.ranking.retrieval)
        if not isinstance(search, BadFilter):
            return Ask(search)
    return _go_on(_begin(request, None, rules), None, rules)


def read_ranking(
    request: RankingRequested, replies: tuple[Reply, ...], rules: RankResultsRules, begun: Begun | None = None
) -> Outcome | Ask:
    """Continues with the points of the index, and then with the judge's reply, which may have failed."""
    last = replies[-1]
    if isinstance(last, VectorsUnavailable):
        return Retry(RetryReason.UNAVAILABLE, last.detail)
    if isinstance(last, ModelUnavailable):
        return last.retry()
    reply = last if isinstance(last, ModelReply | ModelFailed) else None
    found = next((reply for reply in replies if isinstance(reply, VectorsReply)), None)
    return _go_on(begun or _begin(request, found, rules), reply, rules)


def _begin(request: RankingRequested, found: VectorsReply | None, rules: RankResultsRules) -> Begun:
    # The stages are imported on use: without numpy, the processes of other handlers start faster.
    from handlers.ranking.stages import weigh

    query = rules.read(request.query)
    candidates, outcome, because = _candidates(request, query, found, rules)
    against = _against(request, candidates, rules.conditions)
    weighed = weigh(
        query, candidates, request.requested_at, rules.ranking, request.limit or rules.ranking.limit, against
    )
    return Begun(request, _note(StageName.RETRIEVAL, outcome, because), weighed)


def _against(request: RankingRequested, candidates: Sequence[Candidate], reader: QueryReader) -> list[tuple[str, ...]]:
    """For each candidate, what the query states and the candidate contradicts: another day, year or price."""
    stated = [facet for facet in reader.read(request.query, request.requested_at) if facet.contradicts]
    if not stated:
        return []
    results = (reader.see(each.title, each.text[:_READ_FOR_CONDITIONS], url=each.url) for each in candidates)
    return [tuple(facet.text for facet in stated if facet.contradicts and facet.contradicts(seen)) for seen in results]


def _source_of(candidate: Candidate, rules: RankResultsRules) -> Source:
    return source_at(candidate.url, candidate.publisher, candidate.site_name or "", rules.compiled_sources)


def _candidates(
    request: RankingRequested, query: ReadQuery, found: VectorsReply | None, rules: RankResultsRules
) -> tuple[tuple[Candidate, ...], StageOutcome, str]:
    """The candidates, and the outcome of the retrieval with its reason."""
    section = rules.ranking.retrieval
    if not query.folded:
        return (), StageOutcome.FAILED, "the query has no words"
    if found is not None:
        merged = merge_hits(found.hits, section)
        return merged, StageOutcome.RAN, f"{_many(len(found.hits), 'point')} found, of {_many(len(merged), 'document')}"
    filters = read_filters(request.filters)
    if isinstance(filters, BadFilter):
        return (), StageOutcome.FAILED, filters.detail
    came, tiers = request.candidates or (), rules.tiered_indexing.thresholds
    given = take_given(came, section, query.keywords, rules.reasoning.max_characters, rules.moments)
    fitting = tuple(
        candidate
        for candidate in given
        if filters is None or fits(candidate, filters, tiers, _source_of(candidate, rules).standing)
    )
    because = f"{_many(len(came), 'candidate')} came along"
    if len(given) < len(came):
        because += f", of {_many(len(given), 'document')}"
    if len(fitting) < len(given):
        because += f", {len(fitting)} of them fit the filters"
    return fitting, StageOutcome.SKIPPED, because


def _go_on(begun: Begun, reply: ModelReply | ModelFailed | None, rules: RankResultsRules) -> Outcome | Ask:
    """The stages from the judge on."""
    from handlers.ranking import stages

    section, model = rules.ranking, rules.ranking_model
    weighed, standing = begun.weighed, begun.weighed.standing
    if not weighed.candidates:
        return _completed(begun, stages.nothing_to_rank(standing), rules)
    if reply is not None:
        standing = stages.after_judge(weighed, reply, section.model_ranking)
    elif not section.model_ranking.enabled:
        standing = standing.noted(StageName.RANKING, StageOutcome.OFF, "model_ranking.enabled is false")
    elif (sure := stages.sure_without_judge(weighed, section, model)) is not None:
        because = f"the trees are sure without it, their confidence is {sure:.3g}"
        standing = standing.noted(StageName.RANKING, StageOutcome.SKIPPED, because)
    else:
        shown = [weighed.candidates[place] for place in standing.order[: section.model_ranking.candidates]]
        return Ask(ask_judge(shown, weighed.query, section, rules), begun)
    standing = stages.after_trees(weighed, standing, section.trees, model)
    standing = stages.after_trust(weighed, standing, section.trust, section.least_relevance)
    standing = stages.after_diversity(weighed, standing, section, begun.request.limit or section.limit)
    return _completed(begun, standing, rules)


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _note(stage: StageName, outcome: StageOutcome, because: str) -> StageNote:
    return StageNote(stage=stage, outcome=outcome, reason=because)


def _completed(begun: Begun, standing: Standing, rules: RankResultsRules) -> Emit:

    request, weighed = begun.request, begun.weighed
    results = tuple(_result(weighed, standing, rank, rules) for rank in range(1, len(standing.order) + 1))
    context, reasoned = _context(request.query, results, rules.reasoning)
    notes = (begun.retrieved, *standing.notes, reasoned)
    completed = RankingCompleted(
        request_id=request.request_id,
        query=request.query,
        requested_at=request.requested_at,
        intent=weighed.query.intent,
        stages=tuple(note.stage for note in notes if note.outcome is StageOutcome.RAN),
        notes=notes,
        results=results,
        nothing_relevant=not any(result.relevant for result in results),
        context=context,
        trees=standing.trees,
        features_version=VERSION_PHASE_C if results else None,
        llm=standing.llm,
        config_version=rules.config_version,
    )
    return Emit((completed,))


def _context(query: str, results: tuple[RankedResult, ...], section: ReasoningSection) -> tuple[str, StageNote]:
    """The passages for a model, under labels, the most trusted first (R-253, R-255)."""
    if not section.enabled:
        return "", _note(StageName.REASONING, StageOutcome.OFF, "reasoning.enabled is false")
    if not results:
        return "", _note(StageName.REASONING, StageOutcome.SKIPPED, "no candidates")
    sources = order_sources(results)
    if not sources:
        return "", _note(StageName.REASONING, StageOutcome.SKIPPED, "no result is relevant")
    blocks = list(source_blocks(sources, language_of(query, section), section))
    shown = sources[: len(blocks)]
    because = f"{_many(len(shown), 'source')}, {sum(source.label == 'HIGH' for source in shown)} of them HIGH"
    if len(shown) < len(sources):
        because += f"; {len(sources) - len(shown)} more do not fit into max_context_characters"
    copies = sum(len(source.copies) for source in sources)
    if beside := len(results) - len(sources) - copies:
        because += f"; {_many(beside, 'result')} not relevant"
    if copies:
        because += f"; {copies} with the text of another"
    return context_of(blocks), _note(StageName.REASONING, StageOutcome.RAN, because)


def _result(weighed: Weighed, standing: Standing, rank: int, rules: RankResultsRules) -> RankedResult:
    from handlers.ranking.stages import copied, explain, is_relevant

    place = standing.order[rank - 1]
    candidate = weighed.candidates[place]
    # Where the source tier is not known, it is looked up by the host (C-36, C-41).
    source = _source_of(candidate, rules)
    tier = (candidate.trust and candidate.trust.source_tier) or source.tier
    # A page of another tier than its address came from elsewhere, by a redirect.
    is_of_host = tier == source.tier
    listing = source.standing if is_of_host or source.standing == "contested" else None
    judgment = label_for(candidate.cts_score, tier, rules.trust_labels.thresholds, listing)
    if candidate.gives_orders:
        judgment = replace(judgment, label=next_lower(judgment.label))
    page_id, copy_of = page_id_of(candidate.url), copied(weighed, standing, place, rules.ranking)
    scores = {stage: scores[place] for stage, scores in standing.stage_scores.items()}
    features = None if standing.features is None else standing.features[place].tolist()
    return RankedResult(
        rank=rank,
        url=candidate.url,
        page_id=page_id,
        title=candidate.title,
        score=round(standing.relevance[place], 6),
        relevant=is_relevant(standing, place, rules.ranking),
        copy_of=None if copy_of is None else weighed.candidates[copy_of].url,
        stage_scores={stage: None if score is None else round(score, 6) for stage, score in scores.items()},
        reasons=(*explain(weighed, standing, place), *([NO_WEB_PAGE] if page_id is None else ())),
        passage=candidate.passage,
        date=candidate.date,
        site_name=candidate.site_name,
        publisher=candidate.publisher or (source.name if is_of_host else "") or None,
        cts_score=candidate.cts_score,
        trust_features=candidate.trust,
        trust_label=judgment.label,
        features=features and tuple(None if math.isnan(value) else value for value in features),
        reasoning_metadata=ReasoningMetadata(trust_label=judgment.label, label_source=judgment.label_source),
    )
