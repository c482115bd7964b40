"""Crawl4AI: a hook that adds ``assay`` to the metadata of results, and a generator of Markdown from the main text."""

from __future__ import annotations

from typing import Any, TypeVar

from crawl4ai import MarkdownGenerationResult
from crawl4ai.markdown_generation_strategy import MarkdownGenerationStrategy

import assay

R = TypeVar("R")


async def judged(result: R) -> R:
    """A result of ``arun`` with ``metadata["assay"]``: score, label, reasons, date, authors, text and Markdown.

    A page that cannot be scored stays; ``metadata["assay"]`` then has ``refused`` and ``reasons``.

    Example: ``result = await judged(await crawler.arun(url))``.
    """
    found: Any = result
    html, url = found.html or None, found.redirected_url or found.url
    if html is None:
        told: dict[str, Any] = {"refused": "unreadable_page", "reasons": [found.error_message or "there is no page"]}
    else:
        told = (await assay.aio.score(html, url=url)).to_dict()
    found.metadata = {**(found.metadata or {}), "assay": told}
    return result


class AssayMarkdown(MarkdownGenerationStrategy):
    """Markdown of the main text, without menus and notices: ``markdown_generator=AssayMarkdown()`` of a config."""

    def __init__(self) -> None:
        """It reads the page as it came, because cleaned HTML has lost what tells text from menus."""
        super().__init__(content_source="raw_html")

    def generate_markdown(self, input_html: str, base_url: str = "", **_: Any) -> MarkdownGenerationResult:
        """The Markdown of a page; "" for one that cannot be read."""
        page = assay.read(input_html, url=base_url if base_url.startswith("http") else "")
        text = page.markdown if isinstance(page, assay.Page) else ""
        return MarkdownGenerationResult(
            raw_markdown=text, markdown_with_citations=text, references_markdown="", fit_markdown=text, fit_html=""
        )
