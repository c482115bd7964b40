"""The distinct results of a batch: those with the same canonical address are one page, whoever found it how often."""

from __future__ import annotations

from collections.abc import Iterable

from handlers.html.links import canonical_url
from schemas.retrieval import RetrievedContent


def distinct_results(contents: Iterable[RetrievedContent]) -> tuple[RetrievedContent, ...]:
    """Merges results with the same canonical address into the first of them; the order stays.

    The merged result has the address of the first, the longest text (a full text before any snippet), and of title,
    HTML and trust score the first that is there. An address that has no canonical form is compared as written. Results
    without an address are merged only where title and text are the same too.

    >>> twice = [RetrievedContent(url="https://a.example/x?utm_source=mail"), RetrievedContent(url="https://a.example/x")]
    >>> [result.url for result in distinct_results(twice)]
    ['https://a.example/x?utm_source=mail']
    """
    found: dict[tuple[str, ...], RetrievedContent] = {}
    for content in contents:
        key = _identity(content)
        known = found.get(key)
        found[key] = content if known is None else _merged(known, content)
    return tuple(found.values())


def _identity(content: RetrievedContent) -> tuple[str, ...]:
    url = content.url.strip()
    return (canonical_url(url) or url,) if url else ("", content.title or "", content.content)


def _merged(first: RetrievedContent, other: RetrievedContent) -> RetrievedContent:
    fuller = max(first, other, key=_fullness)
    return first.model_copy(
        update={
            "title": first.title or other.title,
            "content": fuller.content,
            "content_kind": fuller.content_kind,
            "html": first.html or other.html,
            "cts_score": other.cts_score if first.cts_score is None else first.cts_score,
        }
    )


def _fullness(content: RetrievedContent) -> tuple[bool, int]:
    text = content.content.strip()
    return bool(text) and content.content_kind == "full", len(text)
