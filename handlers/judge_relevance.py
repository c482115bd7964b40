"""Is a source relevant to this very query? Only then is it read (R-110, R-111).

In: ``RelevanceRequested``. Out: ``RelevanceJudged``, and ``SnippetExtracted`` where the source is relevant. A judge
sees title and summary and answers one word; whatever is not exactly that word keeps the source out, under a name of its
own, so that judgments that failed can be told from opinions and be asked for again.
"""

from __future__ import annotations

import hashlib
from functools import cached_property

from pydantic import Field

from handlers.page.reading import PageReadingSection
from handlers.page.snippet import Beginning, SnippetLimits, begin, extract_snippet
from handlers.prompts.model_tasks import ModelTasks
from handlers.prompts.template import Prompts, cleaned, render
from handlers.results.patterns import Patterns
from schemas.event import derive_id
from schemas.llm import CallOutcome, LlmCall
from schemas.outcome import (
    Ask,
    AskModel,
    Emit,
    ModelFailed,
    ModelReply,
    ModelUnavailable,
    Outcome,
    Retry,
    RetryReason,
)
from schemas.relevance import (
    RelevanceJudged,
    RelevanceOutcome,
    RelevanceRequested,
    SnippetExtracted,
    SnippetFailure,
)
from schemas.rules import Rules, Section

TASK = "judge_relevance"
_AROUND = " \t\r\n\"'`*_#>“”‘’«»「」『』()[]"
_END = ".!。！,;:"


class RelevanceGateSection(Section):
    """How sources are judged and read."""

    max_title_characters: int = Field(default=300, ge=1, description="Of a title, as the judge sees it.")
    max_summary_characters: int = Field(default=1500, ge=1, description="Of a summary, as the judge sees it.")
    least_coverage: float = Field(
        default=0.6, gt=0, le=1, description="Share of a query's terms that the offline judge wants to see."
    )
    snippet: SnippetLimits = Field(default_factory=SnippetLimits, description="Sizes of summaries and snippets.")


class JudgeRelevanceRules(Rules):
    """Everything that ``judge_relevance`` decides by."""

    relevance_gate: RelevanceGateSection = Field(default_factory=RelevanceGateSection)
    page_reading: PageReadingSection
    patterns: Patterns
    model_tasks: ModelTasks
    prompts: Prompts

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Words of a query that say nothing of its subject, in all languages."""
        return frozenset(word for pack in self.patterns.values() for word in pack.stop_words)


def judge_relevance(source: RelevanceRequested, rules: JudgeRelevanceRules) -> Outcome | Ask:
    """Asks a judge for one word on title and summary; where there is neither, none is asked (R-116, R-133).

    The address and a hash of the content are part of the question, so that an answer that was kept for one source and
    state of it is never taken for another's (R-131).
    """
    gate = rules.relevance_gate
    seen = begin(source.html, source.content, source.title, rules.page_reading, gate.snippet)
    title = cleaned(seen.title, gate.max_title_characters)
    summary = cleaned(seen.summary, gate.max_summary_characters)
    if not title and not summary:
        return _verdict(source, rules, RelevanceOutcome.NO_EVIDENCE)
    template, asked = rules.prompts[TASK], rules.model_tasks[TASK]
    messages = render(
        template,
        {"case": _case(source)},
        {"query": source.query, "title": title or "(none)", "summary": summary or "(none)"},
    )
    query = source.query.casefold()
    facts = {
        "query": source.query,
        "title": title,
        "summary": summary,
        "ignored": sorted(word for word in rules.stop_words if word in query),
        "least_coverage": gate.least_coverage,
    }
    return Ask(AskModel(TASK, template.version, messages, facts, asked.max_tokens, asked.temperature))


def read_relevance(
    source: RelevanceRequested,
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...],
    rules: JudgeRelevanceRules,
) -> Outcome:
    """Goes on with the judge's word. A failed call keeps the source out (R-121); an outage decides nothing (C-20)."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return Retry(RetryReason.UNAVAILABLE, reply.detail, reply.after_seconds)
    if isinstance(reply, ModelFailed):
        timeout = reply.call.outcome is CallOutcome.TIMEOUT
        return _verdict(source, rules, RelevanceOutcome.TIMEOUT if timeout else RelevanceOutcome.ERROR, reply.call)
    return _verdict(source, rules, read_word(reply.text), reply.call)


def read_word(text: str) -> RelevanceOutcome:
    """What a reply says: one of two words within quotes, emphasis or before an end of sentence (R-120, C-19).

    >>> [read_word(text).value for text in ("**Relevant**.", "irrelevant", "Relevant, I think", "not relevant")]
    ['relevant', 'irrelevant', 'unparsed', 'unparsed']
    """
    word = text.strip(_AROUND + _END).lower()
    if word in (RelevanceOutcome.RELEVANT, RelevanceOutcome.IRRELEVANT):
        return RelevanceOutcome(word)
    return RelevanceOutcome.UNPARSED


def _verdict(
    source: RelevanceRequested, rules: JudgeRelevanceRules, outcome: RelevanceOutcome, call: LlmCall | None = None
) -> Emit:
    relevant = outcome is RelevanceOutcome.RELEVANT
    judged = RelevanceJudged(
        request_id=source.request_id,
        url=source.url,
        relevant=relevant,
        outcome=outcome,
        raw=call.raw if call else None,
        llm=call,
        config_version=rules.config_version,
    )
    return Emit((judged, _snippet(source, rules)) if relevant else (judged,))


def _snippet(source: RelevanceRequested, rules: JudgeRelevanceRules) -> SnippetExtracted:
    limits, reading = rules.relevance_gate.snippet, rules.page_reading
    text = extract_snippet(source.html, source.content, reading, limits)
    seen: Beginning = begin(source.html, source.content, source.title, reading, limits)
    gate = rules.relevance_gate
    return SnippetExtracted(
        request_id=source.request_id,
        url=source.url,
        title=cleaned(seen.title, gate.max_title_characters),
        snippet=cleaned(text, limits.max_characters) or None,
        failure=None if text else SnippetFailure.NO_MEANINGFUL_CONTENT,
        config_version=rules.config_version,
    )


def _case(source: RelevanceRequested) -> str:
    content = (source.html or source.content or "").encode("utf-8", "replace")
    return derive_id(source.url, source.title, hashlib.sha256(content).hexdigest())
