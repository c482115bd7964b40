"""Is the research goal met, or is another query needed?

In: a batch of results with its goal and required fields. Out: ``SearchEvaluated``. A rubric is computed for every
batch; a judge is shown it with the results, gives a score and says what is missing. Recommendation and ``satisfied``
follow from score, gaps and missing fields here, whatever the judge recommends. Where it fails, the rubric's score
stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from handlers.html.reading import PageReadingSection
from handlers.html.refusals import PageRefusalsSection, Refusals
from handlers.listings.page_shape import page_of, with_page
from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Prompts, cleaned, render
from handlers.relevance.sections import RelevanceGateSection
from handlers.results.batch import distinct_results
from handlers.retrieval.facets import QueryReader
from handlers.retrieval.search_reply import REPLY_SCHEMA, SearchReply, read_search_reply
from handlers.retrieval.search_rubric import Assessment, assess
from handlers.retrieval.search_wording import gaps_of, refinements_of
from handlers.retrieval.sections import Bands, SearchEvaluationSection
from handlers.text.patterns import Patterns
from schemas.llm import LlmCall
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable
from schemas.retrieval import RetrievalBatch
from schemas.rules import Rules
from schemas.search import Recommendation, SearchEvaluated, SearchOutcome, SearchScoreSource

TASK = "evaluate_search"


class EvaluateSearchRules(Rules):
    """Everything that ``evaluate_search`` decides by."""

    search_evaluation: SearchEvaluationSection
    patterns: Patterns
    relevance_gate: RelevanceGateSection
    page_reading: PageReadingSection
    page_refusals: PageRefusalsSection
    model_tasks: ModelTasks
    prompts: Prompts

    @cached_property
    def reader(self) -> QueryReader:
        """Reads goals and results under these rules; its word lists are compiled once."""
        gate = self.relevance_gate
        return QueryReader(self.patterns, self.search_evaluation.goal_words, gate.plain_words, gate.same_words)

    @cached_property
    def refusals(self) -> Refusals:
        """The detector of results that are no content."""
        return Refusals(self.page_refusals, self.reader.patterns.details)


@dataclass(frozen=True, slots=True)
class _Opinion:
    """A score with what is missing and what to try next."""

    score: float
    gaps: str
    refinements: tuple[str, ...]


def evaluate_search(batch: RetrievalBatch, rules: EvaluateSearchRules) -> Outcome | Ask:
    """Asks a judge how good the results are; no results are 0 and worth no call (R-103).

    The judge sees the goal, the required fields, the distinct results and the rubric, in this order (R-082, R-102).
    Results that are no content, such as "not found", are left out.
    """
    batch = _read(batch, rules)
    found = assess(batch, rules.search_evaluation, rules.reader)
    own = _opinion_of(found, rules.search_evaluation)
    if not batch.retrieved_content:
        return _verdict(batch, rules, found, own, SearchScoreSource.RUBRIC, SearchOutcome.NO_RESULTS)
    template, asked = rules.prompts[TASK], rules.model_tasks[TASK]
    messages = render(
        template,
        {"rubric": json.dumps(found.rubric.to_wire())},
        {
            "goal": (batch.goal or "").strip() or batch.query,
            "required_fields": "\n".join(batch.required_fields or ()) or "(none)",
            "results_summary": _summary(batch, rules.search_evaluation),
            "fields_missing": "\n".join(found.missing) or "(none)",
            "fields_unchecked": "\n".join(found.unchecked) or "(none)",
        },
    )
    facts = {
        "quality_score": own.score,
        "gaps": own.gaps,
        "suggested_refinements": list(own.refinements),
        "recommendation": str(
            recommend(own.score, own.gaps, _missing(found, SearchScoreSource.RUBRIC), rules.search_evaluation.bands)
        ),
    }
    return Ask(
        AskModel(TASK, template.version, messages, facts, asked.max_tokens, asked.temperature, schema=REPLY_SCHEMA)
    )


def read_search(
    batch: RetrievalBatch, replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...], rules: EvaluateSearchRules
) -> Outcome:
    """Goes on with what the judge said. An outage decides nothing; a failed or malformed answer leaves the rubric."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    section = rules.search_evaluation
    batch = _read(batch, rules)
    found = assess(batch, section, rules.reader)
    own = _opinion_of(found, section)
    rubric, model = SearchScoreSource.RUBRIC, SearchScoreSource.MODEL
    if isinstance(reply, ModelFailed):
        return _verdict(batch, rules, found, own, rubric, SearchOutcome.FAILED, reply.call)
    said = read_search_reply(reply.text)
    if said is None:
        return _verdict(batch, rules, found, own, rubric, SearchOutcome.MALFORMED, reply.call)
    # The offline judge's opinion is the rubric's, and is called so.
    source = model if reply.call.judged_by == "model" else rubric
    return _verdict(batch, rules, found, _listen(said, section), source, SearchOutcome.JUDGED, reply.call)


def recommend(score: float, gaps: str, missing: tuple[str, ...], bands: Bands) -> Recommendation:
    """Whether to search on (R-089): done in the upper band, and in the one below it unless something is missing (C-15).

    >>> recommend(0.7, "", (), Bands()).value, recommend(0.7, "No price.", (), Bands()).value
    ('stop', 'continue')
    """
    done = score >= bands.high or (score >= bands.acceptable and not gaps and not missing)
    return Recommendation.STOP if done else Recommendation.CONTINUE


def _read(batch: RetrievalBatch, rules: EvaluateSearchRules) -> RetrievalBatch:
    """The batch with results of one canonical address merged, each with the text of its page where that says more.

    Results that are no content are left out.
    """
    section, patterns = rules.search_evaluation, rules.reader.patterns
    most = section.max_text_characters
    read = []
    for result in distinct_results(batch.retrieved_content):
        page = page_of(result.html, patterns, rules.page_reading, max_html=section.max_html_characters, max_text=most)
        found = with_page(result, page, most)
        if rules.refusals.why_no_content((found.title or "",), found.content, found.url) is None:
            read.append(found)
    return batch.model_copy(update={"retrieved_content": tuple(read)})


def _opinion_of(found: Assessment, section: SearchEvaluationSection) -> _Opinion:
    return _Opinion(found.rubric.total, gaps_of(found, section), refinements_of(found, section))


def _missing(found: Assessment, source: SearchScoreSource) -> tuple[str, ...]:
    """Required fields that nobody has seen: without a model also those that can't be checked (C-14)."""
    return found.missing if source is SearchScoreSource.MODEL else (*found.missing, *found.unchecked)


def _listen(said: SearchReply, section: SearchEvaluationSection) -> _Opinion:
    """What the judge said, as text that can travel: no unseen characters, nothing twice, nothing without end."""
    gaps = cleaned(said.gaps, section.max_gaps_characters)
    if gaps.lower().strip(" .!-\"'") in section.no_gaps:
        gaps = ""
    longest = section.max_refinement_characters
    texts = [text for given in said.suggested_refinements if (text := cleaned(given, longest))]
    return _Opinion(said.quality_score, gaps, tuple(dict.fromkeys(texts))[: section.max_refinements])


def _verdict(
    batch: RetrievalBatch,
    rules: EvaluateSearchRules,
    found: Assessment,
    opinion: _Opinion,
    source: SearchScoreSource,
    outcome: SearchOutcome,
    call: LlmCall | None = None,
) -> Emit:
    """The event. Where the search goes on and the judge left a field empty, the rubric says what it knows."""
    section = rules.search_evaluation
    recommendation = recommend(opinion.score, opinion.gaps, _missing(found, source), section.bands)
    done = recommendation is Recommendation.STOP
    evaluated = SearchEvaluated(
        batch_id=batch.batch_id,
        query=batch.query,
        attempt=batch.attempt,
        parent_batch_id=batch.parent_batch_id,
        request_id=batch.request_id,
        satisfied=done,
        quality_score=opinion.score,
        gaps="" if done else opinion.gaps or gaps_of(found, section),
        recommendation=recommendation,
        suggested_refinements=() if done else opinion.refinements or refinements_of(found, section),
        rubric=found.rubric,
        missing_fields=found.missing,
        unchecked_fields=found.unchecked,
        score_source=source,
        outcome=outcome,
        llm=call,
        config_version=rules.config_version,
    )
    return Emit((evaluated,))


def _summary(batch: RetrievalBatch, section: SearchEvaluationSection) -> str:
    """The results, numbered: title, address, beginning of the text."""
    lines = []
    for number, content in enumerate(batch.retrieved_content[: section.max_results], 1):
        text = " ".join(content.content[: 4 * section.max_snippet_characters].split())[: section.max_snippet_characters]
        title = " ".join((content.title or "").split())[: section.max_snippet_characters]
        url = " ".join(content.url[: section.max_snippet_characters].split())
        lines.append(f"{number}. {title}\n   {url}\n   {text}")
    if (more := len(batch.retrieved_content) - section.max_results) > 0:
        lines.append(f"({more} more results)")
    return "\n".join(lines)
