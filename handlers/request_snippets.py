"""Which approved sources may answer a query? Starts a request that fetches and judges them one after the other.

In: ``SnippetsRequested``. Out: ``ExtractionNeeded`` for the first source, which carries the others. If no source can be
tried, ``SnippetsCompleted`` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from handlers.relevance.progress import Domains, RelevanceGateSection, completed, go_on, sources_of
from handlers.text.patterns import Patterns, joined_words
from handlers.text.word_match import WordText, share_met, units_of
from schemas.outcome import Emit
from schemas.relevance import MAX_QUERY_CHARACTERS, MAX_SOURCES, RequestFailure, SnippetsRequested
from schemas.rules import Rules


class RequestSnippetsRules(Rules):
    """Everything that ``request_snippets`` decides by."""

    relevance_gate: RelevanceGateSection
    domains: Domains
    patterns: Patterns


def request_snippets(request: SnippetsRequested, rules: RequestSnippetsRules) -> Emit:
    """Sends the first source of a request to be fetched (R-135).

    The query is ``context``, else ``query`` (R-112). The sources are ``urls``, else those of ``domain``, else those of
    the domains whose name or title shares a word with the query; at most ``max_sources`` are tried. A request that is
    too large for the events that would carry it is completed at once.
    """
    version = rules.config_version
    query = (request.context or "").strip() or (request.query or "").strip()
    domain, urls = (request.domain or "").strip(), request.urls
    failure = _failure(query, urls, domain, rules.domains)
    if failure is not None:
        return Emit((completed(request.request_id, query[:MAX_QUERY_CHARACTERS], (), version, failure),))
    given = _approved(query, domain, rules) if urls is None else urls
    sources = sources_of(given, rules.relevance_gate.max_sources)
    if not sources:
        return Emit((completed(request.request_id, query, (), version, RequestFailure.NO_SOURCES),))
    wait, asked_at = request.deadline_seconds, request.requested_at
    answer_by = asked_at + timedelta(seconds=wait) if wait is not None and asked_at is not None else None
    return Emit((go_on(request.request_id, query, sources, version, answer_by),))


def _failure(query: str, urls: Sequence[str] | None, domain: str, domains: Domains) -> RequestFailure | None:
    if not query:
        return RequestFailure.NO_QUERY
    if len(query) > MAX_QUERY_CHARACTERS or len(urls or ()) > MAX_SOURCES:
        return RequestFailure.TOO_LARGE
    return RequestFailure.UNKNOWN_DOMAIN if urls is None and domain and domain not in domains else None


def _approved(query: str, domain: str, rules: RequestSnippetsRules) -> tuple[str, ...]:
    units = units_of(query, joined_words(rules.patterns, "stop_words"))
    named = [
        field
        for name, field in rules.domains.items()
        if (name == domain if domain else share_met(units, WordText(f"{name.replace('_', ' ')} {field.title}")))
    ]
    return tuple(url for field in named for url in field.relevantSources)
