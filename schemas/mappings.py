"""Reads what programs give as mappings: usual names of search interfaces are understood, unknown keys are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic.alias_generators import to_camel

from schemas.event import Part

NAMES = {
    "link": "url",
    "href": "url",
    "uri": "url",
    "snippet": "content",
    "body": "content",
    "text": "content",
    "description": "content",
    "name": "title",
    "published_date": "date",
    "publishedDate": "date",
    "page_age": "date",
    "status_code": "status",
}
"""Keys of search interfaces and crawlers, and the field that has their value."""
_PASSED_OVER = """\
about_this_result age cacheId cached_page_link dateLastCrawled deepLinks deep_results displayLink displayUrl
displayed_link extra_snippets family_friendly favicon formattedUrl highlightScores highlights htmlFormattedUrl
htmlSnippet htmlTitle id image isFamilyFriendly isNavigational is_source_both is_source_local kind language
meta_url pagemap position profile rank raw_content redirect_link related_pages_link rich_snippet sitelinks
snippet_highlighted_words source subtype thumbnail thumbnailUrl type"""
PASSED_OVER = frozenset(_PASSED_OVER.split())
"""Keys of the results of search interfaces that decide nothing here."""


class UnknownKeyError(ValueError):
    """A mapping has a key that means nothing, or there are no mappings; the message says what is known."""


def fields_of(items: Any, what: str, kind: type[Part], *others: type[Part]) -> list[Any]:
    """The fields of each mapping; an item that is no mapping stays, and its event refuses it.

    Args:
        items: The mappings.
        what: The argument, for the message.
        kind: What the mappings become.
        others: What they may become elsewhere; these fields are known too.

    Raises:
        UnknownKeyError: ``items`` is no list of items, or a key is unknown.

    >>> from schemas.retrieval import RetrievedContent
    >>> fields_of([{"link": "https://a.example/", "snippet": "Tea"}], "results", RetrievedContent)
    [{'url': 'https://a.example/', 'content': 'Tea'}]
    >>> fields_of([{"contents": "Tea"}], "results", RetrievedContent)
    Traceback (most recent call last):
    schemas.mappings.UnknownKeyError: results[0]: unknown key 'contents'; did you mean 'content'?
    """
    if not isinstance(items, Iterable) or isinstance(items, str | bytes | Mapping):
        raise UnknownKeyError(f"{what}: a list of mappings is expected, not {type(items).__name__}")
    known = {name for model in (kind, *others) for name in _names(model)}
    read: list[Any] = []
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            read.append(item)
            continue
        fields: dict[str, Any] = {}
        for key, value in item.items():
            name = key if key in known else NAMES.get(key, key)
            if name not in known and key in PASSED_OVER:
                continue
            if name not in known:
                near = get_close_matches(str(key), [*_names(kind), *NAMES], 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(kind.model_fields)}"
                raise UnknownKeyError(f"{what}[{number}]: unknown key {key!r}; {hint}")
            if key == name or not item.get(name):
                fields[name] = value
        read.append(fields)
    return read


def _names(kind: type[Part]) -> Iterable[str]:
    """The names of the fields of a model in both styles, and one author under its own name."""
    for name in kind.model_fields:
        yield from (name, to_camel(name), *(["author"] if name == "authors" else []))
