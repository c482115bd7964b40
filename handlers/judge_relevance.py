"""Is a source relevant to this very query? Only then is it read (R-110, R-111).

In: ``RelevanceRequested``. Out: ``RelevanceJudged``, ``SnippetExtracted`` of a relevant source, and for a source of a
request the ``ExtractionNeeded`` of the next one or ``SnippetsCompleted``. A judge sees title and summary and answers a
word. Any other answer keeps the source out, with an outcome of its own, so that failed judgments can be repeated.
"""

from __future__ import annotations

from dataclasses import replace

from handlers.html.links import NO_WEB_PAGE, page_id_of
from handlers.html.read_page import PageRules
from handlers.html.snippet import Beginning, SourcePage, begin, paragraphs_of, snippet_of
from handlers.offline.judges import UNDECIDED
from handlers.prompts.template import AskingRules
from handlers.prompts.untrusted import cleaned
from handlers.relevance.progress import RelevanceGateSection, completed, content_hash, go_on, settled
from handlers.retrieval.facets import met, repeats, share_of, share_where, told, unmet
from handlers.retrieval.query import QueryRules
from handlers.text.scripts import has_cjk
from handlers.text.word_match import WordText
from schemas.event import Event, derive_id
from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask, Message
from schemas.outcome import Emit, Outcome
from schemas.relevance import (
    RelevanceJudged,
    RelevanceOutcome,
    RelevanceRequested,
    SnippetExtracted,
    SnippetFailure,
    SourceOutcome,
)
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable

TASK = "judge_relevance"
_AROUND = " \t\r\n\"'`*_#>“”‘’«»「」『』()[]"
_END = ".!。！,;:"
_SOME, _FULL, _SHORT_QUERY = 0.1, 0.2, 6
"""Weights from which on a word that is missing counts, and words of a query that needs all of them."""
_FAILED = {
    CallOutcome.TIMEOUT: RelevanceOutcome.TIMEOUT,
    CallOutcome.TRUNCATED: RelevanceOutcome.UNPARSED,
    CallOutcome.EMPTY: RelevanceOutcome.UNPARSED,
}
"""What a failed call means; any other one is an error."""


class JudgeRelevanceRules(AskingRules, PageRules, QueryRules):
    """The configuration of ``judge_relevance``."""


def judge_relevance(source: RelevanceRequested, rules: JudgeRelevanceRules) -> Outcome | Ask:
    """Asks a judge for one word on title and summary, if there is one of the two (R-116, R-118, R-133).

    The question contains the address and a hash of the content: a cached answer is only used for the same source in the
    same state (R-131).
    """
    page = _page(source, rules)
    # What has paragraphs, ``fetch_page`` has read.
    if source.paragraphs is None and not page.state.is_content:
        return _verdict(source, rules, RelevanceOutcome.NO_EVIDENCE, detail=str(page.state))
    title, summary = _shown(source, page, rules)
    if not source.query.strip() or not (title or summary):
        return _verdict(source, rules, RelevanceOutcome.NO_EVIDENCE)
    opinion, reasons = compare(source, title, summary, rules)
    case = {"case": derive_id(source.url, source.title, _content_hash(source))}
    shown = {"query": source.query, "title": title or "(none)", "summary": summary or "(none)"}
    need = rules.ask(TASK, case, shown, {"opinion": opinion})
    message = Message("user", "\n\n".join(part.content for part in need.messages))
    return Ask(replace(need, messages=(message,)), reasons)


def compare(
    source: RelevanceRequested, title: str, summary: str, rules: JudgeRelevanceRules
) -> tuple[str, tuple[str, ...]]:
    """``Relevant``, ``Irrelevant`` or ``UNDECIDED``, by the words and details of a title, a summary and an address.

    The second value names what of the query they have, and what they lack.

    A short query needs all of its words that are not frequent. A source that lacks some may say the same in others, so
    it is undecided, unless it lacks a name as well. So is one that repeats a word without end.
    """
    gate = rules.relevance_gate
    facets = rules.queries.read(source.query, source.requested_at)
    seen = rules.queries.see(title, summary, url=source.url)
    scored = [(facet, met(facet, seen)) for facet in facets]
    named = {verb: dict[str, None]() for verb in ("has", "denies", "lacks")}
    for facet, score in scored:
        named["has" if score > 0 else "denies" if score < 0 else "lacks"][facet.text] = None
    reasons = tuple(f"{verb} {', '.join(texts)}" for verb, texts in named.items() if texts)
    lacking = any(unmet(facets, [[score for _, score in scored]]))
    subject, scores = [facet for facet in facets if facet.is_subject], [score for f, score in scored if f.is_subject]
    missing = [facet for facet, score in scored if facet.is_subject and score <= 0]
    # What tells the source's subject from the query's may be a frequent word.
    names = [facet.text for facet in subject if facet.is_condition]
    least = _SOME if seen.names_another(names, WordText(source.query)) else _FULL
    missed = any(facet.weight >= least for facet in missing)
    is_short = len(subject) <= _SHORT_QUERY and not has_cjk(source.query)
    share = share_of(subject, scores)
    if subject and not lacking and share >= gate.least_coverage and (not is_short or not missed):
        return (UNDECIDED if repeats(facets, seen) else "Relevant"), reasons
    of_unnamed = share_where(lambda facet: not facet.is_condition, subject, scores)
    lacks_name = any(facet.is_condition and not facet.text.isdecimal() for facet in missing)
    is_other = lacks_name and 0 < of_unnamed <= gate.most_irrelevant_coverage
    return ("Irrelevant" if is_other else UNDECIDED), reasons


def read_relevance(
    source: RelevanceRequested,
    replies: tuple[ModelReply | ModelFailed | ModelUnavailable, ...],
    rules: JudgeRelevanceRules,
    reasons: tuple[str, ...] | None = None,
) -> Outcome:
    """Goes on with the judge's word. A failed call keeps the source out (R-121).

    An outage decides nothing (C-20), until the deadline of the request: then the request is completed, and what is
    pending of it is not judged.
    """
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        late = source.answer_by is not None and reply.at is not None and reply.at >= source.answer_by
        return _without_judgment(source, reply, rules) if late else reply.retry()
    if isinstance(reply, ModelFailed):
        outcome = _FAILED.get(reply.call.outcome, RelevanceOutcome.ERROR)
        return _verdict(source, rules, outcome, reply.call, reply.detail)
    if reasons is None:
        _, reasons = compare(source, *_shown(source, _page(source, rules), rules), rules)
    abstains = reply.call.judged_by == "offline" and reply.text == UNDECIDED
    outcome = RelevanceOutcome.UNDECIDED if abstains else read_word(reply.text)
    return _verdict(source, rules, outcome, reply.call, reasons=reasons)


def read_word(text: str) -> RelevanceOutcome:
    """One of two words, in quotes, with emphasis or before the end of a sentence; else unparsed (R-120, C-19).

    >>> [read_word(text).value for text in ("**Relevant**.", "irrelevant", "Relevant, I think", "not relevant")]
    ['relevant', 'irrelevant', 'unparsed', 'unparsed']
    """
    word = text.strip(_AROUND + _END).lower()
    if word in (RelevanceOutcome.RELEVANT, RelevanceOutcome.IRRELEVANT):
        return RelevanceOutcome(word)
    return RelevanceOutcome.UNPARSED


def _page(source: RelevanceRequested, rules: JudgeRelevanceRules) -> SourcePage:
    html = source.html if source.paragraphs is None else None
    return SourcePage(html, source.content, source.title, rules.pages, source.url)


def _beginning(source: RelevanceRequested, page: SourcePage, gate: RelevanceGateSection) -> Beginning:
    if source.paragraphs is None:
        return begin(page.facts, page.title, page.text, gate.snippet)
    return Beginning(source.title, source.summary or "")


def _shown(source: RelevanceRequested, page: SourcePage, rules: JudgeRelevanceRules) -> tuple[str, str]:
    """The title and the summary that a judge is shown."""
    gate, seen = rules.relevance_gate, _beginning(source, page, rules.relevance_gate)
    return cleaned(seen.title, gate.max_title_characters), cleaned(seen.summary, gate.max_summary_characters)


def _verdict(
    source: RelevanceRequested,
    rules: JudgeRelevanceRules,
    outcome: RelevanceOutcome,
    call: LlmCall | None = None,
    detail: str | None = None,
    reasons: tuple[str, ...] = (),
) -> Emit:
    page = _page(source, rules)
    judged = RelevanceJudged(
        request_id=source.request_id,
        url=source.url,
        page_id=(page_id := page_id_of(source.url)),
        relevant=outcome is RelevanceOutcome.RELEVANT,
        outcome=outcome,
        reasons=reasons,
        detail=detail or (None if page_id else NO_WEB_PAGE),
        summary_failure=page.unreadable,
        llm=call,
        config_version=rules.config_version,
    )
    events: list[Event] = [judged]
    said = {}
    if judged.relevant:
        found = _read(source, page, rules)
        said = {"title": found.title, "snippet": found.snippet, "failure": found.failure}
        events.append(found)
    if source.sources:
        sources = settled(source.sources, source.url, SourceOutcome(outcome), **said)
        events.append(go_on(source.request_id, source.query, sources, rules.config_version, source.answer_by))
    return Emit(tuple(events))


def _without_judgment(source: RelevanceRequested, reply: ModelUnavailable, rules: JudgeRelevanceRules) -> Emit:
    detail = f"no model could be asked until the deadline: {reply.cause}"
    judged, *_ = _verdict(source, rules, RelevanceOutcome.TIMEOUT, detail=detail).events
    sources = source.sources
    for pending in source.sources:
        sources = settled(sources, pending.url, SourceOutcome.NOT_JUDGED)
    ended = completed(source.request_id, source.query, sources, rules.config_version)
    return Emit((judged, ended) if sources else (judged,))


def _read(source: RelevanceRequested, page: SourcePage, rules: JudgeRelevanceRules) -> SnippetExtracted:
    gate = rules.relevance_gate
    paragraphs = paragraphs_of(page.facts, page.text, gate.snippet) if source.paragraphs is None else source.paragraphs
    facets = rules.queries.read(source.query, source.requested_at)

    def worth(text: str) -> float:
        seen = rules.queries.see("", text)
        return share_of(facets, [told(facet, seen) for facet in facets])

    text = cleaned(snippet_of(paragraphs, gate.snippet, worth), gate.snippet.max_characters)
    return SnippetExtracted(
        request_id=source.request_id,
        url=source.url,
        page_id=page_id_of(source.url),
        title=cleaned(_beginning(source, page, gate).title, gate.max_title_characters),
        outcome="extracted" if text else "failed",
        snippet=text or None,
        failure=None if text else SnippetFailure.NO_MEANINGFUL_CONTENT,
        content_hash=_content_hash(source),
        config_version=rules.config_version,
    )


def _content_hash(source: RelevanceRequested) -> str:
    return source.content_hash or content_hash(source.html or source.content or "")
