"""Functions on pages in memory, without Kafka, and the CPU time of each page.

Modes: ``parse``, ``resiliparse``, ``trafilatura``, ``score_page``.
"""

import statistics
import time
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser

from tools.bench.child import Meter, Task
from tools.bench.work import Page, load_pages, scorer


def main() -> None:
    work, meter = _work(Task.given().mode), Meter()
    took = []
    for page in load_pages():
        meter.count()
        began = time.process_time()
        work(page)
        took.append(1000 * (time.process_time() - began))
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    meter.tell(mean_ms=statistics.mean(took), p50_ms=cuts[49], p99_ms=cuts[98])


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
    main()
