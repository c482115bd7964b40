"""Is the research goal met, or is another query needed?

In: a batch of results with its goal and required fields. Out: ``SearchEvaluated``. The judge sees the rubric and the
results, and gives a score and the gaps; if it fails, the rubric's score is used. Recommendation and
``satisfied`` follow from score, gaps and missing fields, whatever the judge recommends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from handlers.html.citations import CitationWords
from handlers.html.names import NameWords
from handlers.html.read_page import PageRules
from handlers.listings.page_shape import with_page
from handlers.prompts.replies import StrictReply, read_reply
from handlers.prompts.template import AskingRules
from handlers.prompts.untrusted import Block, cleaned, one_line
from handlers.results.batch import distinct_results
from handlers.retrieval.query import QueryRules
from handlers.retrieval.search_rubric import (
    Assessment,
    Bands,
    Credits,
    SearchEvaluationSection,
    assess,
    gaps_of,
    refinements_of,
)
from schemas.event import MAX_ITEMS, Score
from schemas.llm import LlmCall
from schemas.needs import Ask
from schemas.outcome import Emit, Outcome
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from schemas.retrieval import RetrievalBatch
from schemas.search import Recommendation, SearchEvaluated, SearchOutcome, SearchScoreSource

TASK = "evaluate_search"


class EvaluateSearchRules(AskingRules, PageRules, QueryRules):
    """The configuration of ``evaluate_search``."""

    search_evaluation: SearchEvaluationSection

    @cached_property
    def credits(self) -> Credits:
        """Reads the lines of results that credit a person or an agency."""
        return Credits(NameWords(self.page_reading, self.details), CitationWords(self.page_reading))


class SearchReply(StrictReply):
    """The judge's reply on a search. The recommendation must be well-formed and is not used (R-089)."""

    satisfied: bool
    quality_score: Score
    gaps: str
    recommendation: Literal["continue", "stop"]
    suggested_refinements: list[str] = Field(max_length=MAX_ITEMS, fail_fast=True)


@dataclass(frozen=True, slots=True)
class _Opinion:
    """A score with the missing information and the next queries to try."""

    score: float
    gaps: str
    refinements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Assessed:
    """A batch with its distinct results, their rubric, and the opinion of the rubric."""

    batch: RetrievalBatch
    found: Assessment
    own: _Opinion


def evaluate_search(batch: RetrievalBatch, rules: EvaluateSearchRules) -> Outcome | Ask:
    """Asks a judge how good the results are; without results the score is 0 (R-103).

    The judge sees the goal, the required fields, the distinct results and the rubric, in this order (R-082, R-102).
    """
    assessed = _assess(batch, rules)
    batch, found, own = assessed.batch, assessed.found, assessed.own
    if not batch.retrieved_content:
        return _verdict(assessed, rules, SearchOutcome.NO_RESULTS)
    section = rules.search_evaluation
    results = _results(batch, section)
    trusted = {
        "rubric": json.dumps(found.rubric.to_wire()),
        "shown": f"{len(results)} of {len(batch.retrieved_content)}",
    }
    untrusted: dict[str, str | list[Block]] = {
        "goal": (batch.goal or "").strip() or batch.query,
        "required_fields": "\n".join(batch.required_fields or ()) or "(none)",
        "results_summary": results,
        "fields_missing": "\n".join(found.missing) or "(none)",
        "fields_unchecked": "\n".join(found.unchecked) or "(none)",
    }
    recommendation = recommend(own.score, own.gaps, (*found.missing, *found.unchecked), section.bands)
    done = recommendation is Recommendation.STOP
    facts = {
        "satisfied": done,
        "quality_score": own.score,
        "gaps": own.gaps,
        "recommendation": str(recommendation),
        "suggested_refinements": [] if done else list(own.refinements),
    }
    return Ask(rules.ask(TASK, trusted, untrusted, facts, SearchReply), assessed)


def read_search(
    batch: RetrievalBatch,
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...],
    rules: EvaluateSearchRules,
    assessed: _Assessed | None = None,
) -> Outcome:
    """Goes on with the judge's reply. An outage decides nothing; a failed or malformed reply leaves the rubric."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return reply.retry()
    assessed = assessed or _assess(batch, rules)
    if isinstance(reply, ModelFailed):
        return _verdict(assessed, rules, SearchOutcome.FAILED, reply.call)
    if (said := read_search_reply(reply.text)) is None:
        return _verdict(assessed, rules, SearchOutcome.MALFORMED, reply.call)
    return _verdict(assessed, rules, SearchOutcome.JUDGED, reply.call, _listen(said, rules.search_evaluation))


def read_search_reply(text: str) -> SearchReply | None:
    r"""The reply; None outside of the protocol: no number is clamped, and no type is converted (R-097 to R-101).

    >>> said = '{"satisfied": true, "quality_score": %s, "gaps": "", "recommendation": "stop",'
    >>> said += ' "suggested_refinements": []}'
    >>> read_search_reply(said % 0.9).quality_score
    0.9
    >>> read_search_reply(said % 1.2) is None, read_search_reply("```json\n{}\n```") is None
    (True, True)
    """
    return read_reply(SearchReply, text)


def recommend(score: float, gaps: str, missing: tuple[str, ...], bands: Bands) -> Recommendation:
    """Whether to search on (R-089): done in the upper band, and in the one below it unless something is missing (C-15).

    >>> recommend(0.7, "", (), Bands()).value, recommend(0.7, "No price.", (), Bands()).value
    ('stop', 'continue')
    """
    done = score >= bands.high or (score >= bands.acceptable and not gaps and not missing)
    return Recommendation.STOP if done else Recommendation.CONTINUE


def _read(batch: RetrievalBatch, rules: EvaluateSearchRules) -> RetrievalBatch:
    """The batch with distinct results, each with the longer text of its page, without those that have no content."""
    section, read = rules.search_evaluation, []
    for result in distinct_results(batch.retrieved_content):
        found, _ = with_page(
            result,
            rules.compiled_patterns,
            rules.page_reading,
            max_html=section.max_html_characters,
            max_text=section.max_text_characters,
        )
        title, is_full = found.title or "", result.content_kind == "full"
        if rules.pages.read_result(result.html, title, result.content, result.url, is_full=is_full)[0].is_content:
            read.append(found)
    return batch.model_copy(update={"retrieved_content": tuple(read)})


def _assess(batch: RetrievalBatch, rules: EvaluateSearchRules) -> _Assessed:
    batch, section = _read(batch, rules), rules.search_evaluation
    found = assess(batch, section, rules.queries, rules.credits)
    return _Assessed(
        batch, found, _Opinion(found.rubric.total, gaps_of(found, section), refinements_of(found, section))
    )


def _listen(said: SearchReply, section: SearchEvaluationSection) -> _Opinion:
    """The judge's opinion, in bounded texts without invisible characters or repetitions."""
    gaps = cleaned(said.gaps, section.max_gaps_characters)
    if gaps.lower().strip(" .!-\"'") in section.no_gaps:
        gaps = ""
    longest = section.max_refinement_characters
    texts = [text for given in said.suggested_refinements if (text := cleaned(given, longest))]
    return _Opinion(said.quality_score, gaps, tuple(dict.fromkeys(texts))[: section.max_refinements])


def _verdict(
    assessed: _Assessed,
    rules: EvaluateSearchRules,
    outcome: SearchOutcome,
    call: LlmCall | None = None,
    said: _Opinion | None = None,
) -> Emit:
    """The event. Where the search goes on and the judge left a field empty, the rubric fills it."""
    batch, found, own = assessed.batch, assessed.found, assessed.own
    is_by_model = said is not None and call is not None and call.judged_by == "model"
    opinion = said or own
    # Without a model, fields that can't be checked count as missing (C-14).
    missing = found.missing if is_by_model else (*found.missing, *found.unchecked)
    recommendation = recommend(opinion.score, opinion.gaps, missing, rules.search_evaluation.bands)
    done = recommendation is Recommendation.STOP
    evaluated = SearchEvaluated(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        request_id=batch.request_id,
        satisfied=done,
        quality_score=opinion.score,
        gaps="" if done else opinion.gaps or own.gaps,
        recommendation=recommendation,
        suggested_refinements=() if done else opinion.refinements or own.refinements,
        rubric=found.rubric,
        missing_fields=found.missing,
        unchecked_fields=found.unchecked,
        copies=tuple(group.places for group in found.copies),
        score_source=SearchScoreSource.MODEL if is_by_model else SearchScoreSource.RUBRIC,
        outcome=outcome,
        llm=call,
        config_version=rules.config_version,
    )
    return Emit((evaluated,))


def _results(batch: RetrievalBatch, section: SearchEvaluationSection) -> list[Block]:
    """The results as blocks: title, address, beginning of the text."""
    longest = section.max_snippet_characters
    return [
        Block(
            f"result {number}",
            {
                "title": one_line(content.title or "", longest),
                "url": one_line(content.url, longest),
                "text": one_line(content.content, longest),
            },
        )
        for number, content in enumerate(batch.retrieved_content[: section.max_results], 1)
    ]
