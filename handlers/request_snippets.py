"""Which approved sources may answer a query? Sends a request on its way through them.

In: ``SnippetsRequested``. Out: ``ExtractionNeeded`` for the first source, which carries the others; each of them is
fetched and judged by itself when its turn comes. Where nothing can be tried, ``SnippetsCompleted`` says at once why.
"""

from __future__ import annotations

from handlers.relevance.progress import completed, go_on, sources_of
from handlers.relevance.sections import Domains, RelevanceGateSection
from schemas.outcome import Emit
from schemas.relevance import RequestFailure, SnippetsRequested
from schemas.rules import Rules


class RequestSnippetsRules(Rules):
    """Everything that ``request_snippets`` decides by."""

    relevance_gate: RelevanceGateSection
    domains: Domains


def request_snippets(request: SnippetsRequested, rules: RequestSnippetsRules) -> Emit:
    """Sends the first source of a request to be fetched (R-135).

    The query is ``context`` where there is one, else ``query`` (R-112). The sources are ``urls`` where there are any,
    else those of ``domain``, else those of all domains. No more than ``max_sources`` are tried; an address that may not
    be visited is for the fetch to refuse, like a page that isn't there.
    """
    version = rules.config_version
    query = (request.context or "").strip() or (request.query or "").strip()
    if not query:
        return Emit((completed(request.request_id, "", (), version, RequestFailure.NO_QUERY),))
    domain = (request.domain or "").strip()
    if not request.urls and domain and domain not in rules.domains:
        return Emit((completed(request.request_id, query, (), version, RequestFailure.UNKNOWN_DOMAIN),))
    sources = sources_of(request.urls or _approved(domain, rules.domains), rules.relevance_gate.max_sources)
    if not sources:
        return Emit((completed(request.request_id, query, (), version, RequestFailure.NO_SOURCES),))
    return Emit((go_on(request.request_id, query, sources, version),))


def _approved(domain: str, domains: Domains) -> tuple[str, ...]:
    named = (domains[domain],) if domain else domains.values()
    return tuple(url for field in named for url in field.relevantSources)
