"""Functions on pages in memory, without Kafka. Modes: ``parse``, ``score_page``, ``trafilatura``, ``resiliparse``."""

from __future__ import annotations

import sys
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from handlers.score_page import ScorePageRules, score_page
from schemas.pages import CrawledPage
from tests.rules import shipped_rules
from tools.bench.child import Meter, Task
from tools.bench.pages import Page, load_pages


def main() -> int:
    """Every page once."""
    task, meter = Task.given(), Meter()
    pages = load_pages()[:: task.every]
    work = _work(task.mode)
    for page in pages:
        meter.count()
        work(page)
    meter.report().tell()
    return 0


def _work(mode: str) -> Callable[[Page], object]:
    if mode == "parse":
        return lambda page: LexborHTMLParser(page[1].decode("utf-8", "replace"))
    if mode == "score_page":
        rules = shipped_rules(ScorePageRules)
        return lambda page: score_page(CrawledPage(url=page[0], html_base64=page[1], content_type="text/html"), rules)
    if mode == "resiliparse":
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree

        return lambda page: extract_plain_text(
            HTMLTree.parse(page[1].decode("utf-8", "replace")), main_content=True, alt_texts=False
        )
    from trafilatura import bare_extraction

    return lambda page: bare_extraction(page[1], url=page[0], with_metadata=True)


if __name__ == "__main__":
    sys.exit(main())
