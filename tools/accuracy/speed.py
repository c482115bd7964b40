"""How fast pages are scored, compared with Trafilatura's extraction of the same pages in the same run.

Time is CPU time of this process, so that other work on the machine does not count. The two take turns in whole rounds
over the sample, and the fastest round counts. The stages of Assay are timed page by page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from handlers.html.encoding import page_bytes, parse_bytes
from handlers.score_page import ScorePageRules, score_page
from schemas.pages import CrawledPage
from tests.rules import shipped_rules
from tools.accuracy.contestants import ask_trafilatura, decoded, versions
from tools.accuracy.labels import LabelledPage

SAMPLE, SMALL_SAMPLE = 240, 60
ROUNDS, SIDE_BY_SIDE_ROUNDS = 3, 2
BAND = (150_000, 250_000)
"""Bytes of what counts as a page of 200 KB."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds of CPU a page."""

    pages: int
    p50: float
    p95: float
    most: float

    @classmethod
    def of(cls, milliseconds: list[float]) -> Spread:
        """The spread of some pages' times."""
        ordered = sorted(milliseconds)
        at = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.5, 0.95)]
        return cls(len(ordered), at[0], at[1], ordered[-1])


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured.

    Attributes:
        stages: By stage, over the sample.
        band: By stage, over the sample's pages of about 200 KB and as many more as there are.
        pages_per_second: By contestant, on the small sample; text alone is what Trafilatura's ``extract`` does.
    """

    stages: dict[str, Spread]
    band: dict[str, Spread]
    pages_per_second: dict[str, float]


def measure(pages: list[LabelledPage]) -> Speed:
    """Measures on an even sample of the pages."""
    rules = shipped_rules(ScorePageRules)
    sample = pages[:: max(1, len(pages) // SAMPLE)]
    stages = [_stages(page.body(), page.url, rules) for page in sample]
    in_band = [page for page in pages if BAND[0] <= len(page.body()) <= BAND[1]]
    band = [_stages(page.body(), page.url, rules) for page in in_band]
    return Speed(_spreads(stages), _spreads(band), _side_by_side(pages[:: max(1, len(pages) // SMALL_SAMPLE)], rules))


def _spreads(stages: list[dict[str, float]]) -> dict[str, Spread]:
    return {name: Spread.of([page[name] for page in stages]) for name in (stages[0] if stages else ())}


def _stages(body: bytes, url: str, rules: ScorePageRules) -> dict[str, float]:
    page = CrawledPage.model_construct(url=url, html_base64=body)
    reader = rules.compiled.reader
    utf8 = page_bytes(body).utf8
    whole = fastest(lambda: score_page(page, rules))
    parse = fastest(lambda: parse_bytes(page_bytes(body).utf8))
    read = fastest(lambda tree: reader.read(tree, url, None), lambda: parse_bytes(utf8))
    return {
        "whole page": whole,
        "parse (with decoding)": parse,
        "without the parse": max(0.0, whole - parse),
        "reading the parsed page": read,
        "scoring alone": max(0.0, whole - parse - read),
    }


def _side_by_side(pages: list[LabelledPage], rules: ScorePageRules) -> dict[str, float]:
    contestants: dict[str, Callable[[str, bytes, str], object]] = {
        "Assay, score_page": lambda _html, body, url: score_page(
            CrawledPage.model_construct(url=url, html_base64=body), rules
        )
    }
    if versions():
        import trafilatura

        contestants |= {
            "Trafilatura, text and metadata": lambda html, _body, url: ask_trafilatura(html, url),
            "Trafilatura, text alone": lambda html, _body, url: trafilatura.extract(html, url=url),
            "Trafilatura, text alone, fast": lambda html, _body, url: trafilatura.extract(html, url=url, fast=True),
        }
    bodies = [(decoded(body), body, page.url) for page in pages for body in (page.body(),)]
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(SIDE_BY_SIDE_ROUNDS):
        for name, contestant in contestants.items():
            start = time.process_time()
            for given in bodies:
                contestant(*given)
            spent[name].append(time.process_time() - start)
    return {name: len(pages) / min(seconds) for name, seconds in spent.items()}


def fastest(work: Callable[..., object], given: Callable[[], object] | None = None) -> float:
    """Milliseconds of CPU of the fastest round; what ``given`` makes for the work is not in it."""
    best = float("inf")
    for _ in range(ROUNDS):
        arguments = (given(),) if given else ()
        start = time.process_time()
        result = work(*arguments)
        best = min(best, time.process_time() - start)
        del result
    return best * 1000
