"""Functions on pages in memory, without Kafka, and the CPU time of each page.

Modes: ``parse``, ``resiliparse``, ``trafilatura``, ``score_page``; and ``score_page`` on the ``first`` page of a site,
or on ``later`` pages of sites of which the process has seen a page.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser

from tools.bench.child import Meter, Task
from tools.bench.pages import Page, another_of_its_site, load_pages, scorer

EVERY = 8
"""Of each so many-th page, as many pages of the site are made."""


def main() -> int:
    """Every page once."""
    mode, meter = Task.given().mode, Meter()
    work = _work(mode)
    took = []
    for page, counts in list(_pages(mode)):
        meter.count()
        began = time.process_time()
        work(page)
        if counts:
            took.append(1000 * (time.process_time() - began))
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    meter.report(mean_ms=statistics.mean(took), p50_ms=cuts[49], p99_ms=cuts[98]).tell()
    return 0


def _pages(mode: str) -> Iterator[tuple[Page, bool]]:
    """Pages, and whether their time counts."""
    if mode not in ("first", "later"):
        yield from ((page, True) for page in load_pages())
        return
    for page in load_pages()[::EVERY]:
        for number in range(EVERY):
            yield another_of_its_site(page, number), (number > 0) == (mode == "later")


def _work(mode: str) -> Callable[[Page], object]:
    if mode == "parse":
        return lambda page: LexborHTMLParser(page[1])
    if mode == "resiliparse":
        from resiliparse.extract.html2text import extract_plain_text
        from resiliparse.parse.html import HTMLTree

        return lambda page: extract_plain_text(HTMLTree.parse_from_bytes(page[1]), main_content=True, alt_texts=False)
    if mode == "trafilatura":
        from trafilatura import bare_extraction

        return lambda page: bare_extraction(page[1], url=page[0], with_metadata=True)
    score = scorer()
    return lambda page: score(*page)


if __name__ == "__main__":
    sys.exit(main())
