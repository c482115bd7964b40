"""A result together with its page: what the page says where the search step returned little or no text."""

from __future__ import annotations

from handlers.html.limits import admitted
from handlers.html.reading import PageReadingSection
from handlers.listings.page_shape import PageShape, measure_page
from handlers.text.patterns import CompiledPatterns
from schemas.retrieval import RetrievedContent

_TITLE_CHARACTERS = 500


def page_of(
    html: str | None, own: str, patterns: CompiledPatterns, reading: PageReadingSection, *, max_html: int, max_text: int
) -> PageShape | None:
    """A result's page, measured; None where there is none, or it must not be parsed.

    Args:
        html: The page.
        own: Its address; "" where it is not known.
        patterns: Classes that content systems put on listings and on single items.
        reading: Limits within which a page is parsed.
        max_html: Characters of it that are parsed.
        max_text: Characters of its text that are kept.
    """
    kept = (html or "")[:max_html]
    if not kept:
        return None
    utf8 = admitted(kept.encode("utf-8", "replace"), reading)
    return None if isinstance(utf8, str) else measure_page(utf8, patterns, own, max_text)


def with_page(result: RetrievedContent, page: PageShape | None, max_characters: int) -> RetrievedContent:
    """The result without its HTML: with the page's title where it has none, and followed by the page's text.

    The page's text is added where the result has no text, or a snippet that is shorter than it; the whole is a full
    text then.

    >>> page = PageShape(title="Jazz", text="Jazz at eight.", text_characters=14)
    >>> with_page(RetrievedContent(url="https://a.example/", html="<p>"), page, 1000).content
    'Jazz at eight.'
    """
    read = result.model_copy(update={"html": None}) if result.html is not None else result
    if page is None:
        return read
    if not read.title and page.title:
        read = read.model_copy(update={"title": page.title[:_TITLE_CHARACTERS]})
    text = result.content[:max_characters]
    is_short = result.content_kind == "snippet" and len(text) < page.text_characters
    if page.text and (is_short or not text.strip()):
        whole = f"{text.rstrip()}\n{page.text}" if text.strip() else page.text
        return read.model_copy(update={"content": whole, "content_kind": "full"})
    return read
