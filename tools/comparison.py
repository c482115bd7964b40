"""``make comparison``: the table of docs/comparison.md, Assay beside trafilatura and resiliparse on the same pages."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from handlers.score_page import ScorePageRules
from schemas.pages import CrawledPage
from schemas.states import State
from tests.rules import shipped_rules
from tests.samples import ROOT
from tools import labelled
from tools.accuracy import features, injections, page_content, table
from tools.accuracy.contestants import TRAFILATURA, answers, ask_resiliparse, ask_trafilatura, decoded, versions
from tools.accuracy.counting import Tally
from tools.accuracy.labels import SCHEMA_SET, SETS, pages
from tools.accuracy.main_text import flat
from tools.accuracy.word_f1 import PAGES
from tools.training.authors import AUTHORS
from tools.training.dates import DATES

MARKS = ("<!-- figures: written by tools.comparison -->", "<!-- end of figures -->")
_EVERY = 4  # each fourth page is timed
_TEXT = 100  # characters from which an extracted text passes as the text of a page
_ASSAY = "assay"


def main() -> int:
    """Prints the table, and puts it into the docs with ``--write``."""
    if not labelled.has(PAGES) or not versions():
        print("skipped: it needs the labelled pages (DATA) and the packages of `make comparison`")
        return 0
    asked = answers(page for name in SETS if name != SCHEMA_SET and labelled.has(name) for page in pages(name))
    dates, authors = features.dates(asked, DATES.by_site()), features.authors(asked, AUTHORS.by_site())
    rows = [
        (f"publication date: right / wrong, of {_labelled(dates)}", *_counts(dates), ""),
        (f"author: right / wrong, of {_labelled(authors)}", *_counts(authors), ""),
        ("main text, word F1 weighted by page type", *_main_text()),
        _walls(),
        _orders(),
        ("CPU of a page, ms", *_milliseconds()),
    ]
    head = f"{datetime.now(UTC):%Y-%m-%d}, {versions()}; `make comparison`."
    lines = [head, "", "| | Assay | trafilatura | resiliparse |", "|---|---|---|---|"]
    text = "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
    print(text)
    if "--write" in sys.argv:
        table.write(text, MARKS, ROOT / "docs" / "comparison.md")
    return 0


def _labelled(tally: Tally) -> int:
    return sum(count.labelled for (_, name), count in tally.counts.items() if name == _ASSAY)


def _counts(tally: Tally) -> list[str]:
    """Right and wrong answers of the two who give them; Assay's are of trees that saw no page of the same site."""
    cells = []
    for name in (_ASSAY, TRAFILATURA):
        counts = [count for (_, its), count in tally.counts.items() if its == name]
        cells.append(f"{sum(count.right for count in counts)} / {sum(count.wrong for count in counts)}")
    return cells


def _main_text() -> list[str]:
    """The weighted means of trees that saw no page of the same site, of trafilatura and of resiliparse."""
    [line] = [line for line in page_content.run() if line.startswith("| weighted")]
    cells = [cell.strip() for cell in line.strip("| ").split("|")]
    return [cells[2], *cells[4:]]


def _walls() -> tuple[str, ...]:
    """Pages without content whose text would go on as the text of a page."""
    lines = (ROOT / "tests/handlers/html/states.jsonl").read_text("utf-8").splitlines()
    walls = [case for line in lines if (case := json.loads(line))["expect"] != "content"]
    passed = [0, 0, 0]
    for case in walls:
        html, url = case["html"], case["url"]
        scored = injections.scored(CrawledPage(url=url, html=html))
        passed[0] += scored is not None and scored.state is State.CONTENT
        passed[1] += len((ask_trafilatura(html, url).text or "").strip()) >= _TEXT
        passed[2] += len((ask_resiliparse(html) or "").strip()) >= _TEXT
    return (f"walls, errors and empty pages that pass as text, of {len(walls)}", *map(str, passed))


def _orders() -> tuple[str, ...]:
    """Texts that address a language model, that no visitor sees, and that are in the extracted text."""
    cases = [case for case in injections.written_cases() if case.hidden and case.instructs]
    passed = [0, 0, 0]
    for case in cases:
        url = "https://harbour.example/festival"
        scored, passage = injections.scored(CrawledPage(url=url, html=case.html)), flat(case.passage)
        texts = (scored.content if scored else "", ask_trafilatura(case.html, url).text, ask_resiliparse(case.html))
        for number, text in enumerate(texts):
            passed[number] += passage in flat(text or "")
    return (f"hidden orders to language models in the text, of {len(cases)}", *map(str, passed))


def _milliseconds() -> list[str]:
    """The mean of each fourth page, after a first one that warms up."""
    timed = [(decoded(page.body()), page.url) for page in list(pages(PAGES))[::_EVERY]]
    shipped_rules(ScorePageRules)
    every: Sequence[Callable[[str, str], object]] = (
        lambda html, url: injections.scored(CrawledPage(url=url, html=html)),
        ask_trafilatura,
        lambda html, _: ask_resiliparse(html),
    )
    cells = []
    for ask in every:
        ask(*timed[0])
        began = time.process_time()
        for html, url in timed:
            ask(html, url)
        cells.append(f"{1000 * (time.process_time() - began) / len(timed):.1f}")
    return cells


if __name__ == "__main__":
    sys.exit(main())
