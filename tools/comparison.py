"""``make comparison``: the table of docs/comparison.md, Assay beside trafilatura and resiliparse on the same pages."""

import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

from schemas.pages import CrawledPage
from schemas.states import State
from tests.samples import ROOT
from tools import labelled, table
from tools.accuracy import injections
from tools.accuracy.contestants import ask_resiliparse, ask_trafilatura, decoded, versions
from tools.accuracy.labels import PAGES, pages
from tools.accuracy.matching import flat

MARKS = ("<!-- figures: written by tools.comparison -->", "<!-- end of figures -->")
_EVERY = 8  # each eighth page is timed, and each third written order is asked
_TEXT = 100  # characters from which an extracted text passes as the text of a page
_ACCURACY = ROOT / "docs" / "accuracy.md"


def main() -> int:
    if not labelled.has(PAGES) or not versions():
        print("skipped: it needs the labelled pages (DATA) and the packages of `make comparison`")
        return 0
    weighted, content = _of_accuracy("### Content by page type", "| weighted |"), _ACCURACY.read_text("utf-8")
    measured = re.findall(r"^\d{4}-\d\d-\d\d", content[content.index("## Pages") :], re.MULTILINE)[0]
    rows: list[list[object]] = [
        ["publication date: share right / precision", *_shares("### Publication date"), ""],
        ["authors by persons: share right / precision", *_shares("### Authors"), ""],
        ["main text: word F1 weighted by page type", weighted[1], *weighted[3:]],
        _walls(),
        _orders(),
        ["CPU of a page, ms", *_milliseconds()],
    ]
    head = f"{datetime.now(UTC):%Y-%m-%d}, {versions()}; the first three rows are of `make accuracy`, {measured}."
    text = table.markdown(head, ["", "Assay", "trafilatura", "resiliparse"], rows)
    print(text)
    if "--write" in sys.argv:
        table.write(text, MARKS, "comparison.md")
    return 0


def _of_accuracy(section: str, begin: str) -> list[str]:
    """The cells of a row of docs/accuracy.md behind its name."""
    text = _ACCURACY.read_text("utf-8")
    line = next(line for line in text[text.index(section) :].splitlines() if line.startswith(begin))
    return [cell.strip() for cell in line.strip("| ").split("|")][1:]


def _shares(section: str) -> tuple[str, str]:
    """Share right and precision of Assay and trafilatura; Assay's are of models that saw no page of the same site."""
    _, own, *_, other = _of_accuracy(section, "| together |")
    return own, other


def _walls() -> list[object]:
    """Pages without content whose text would go on as the text of a page."""
    walls = [row for row in labelled.rows(ROOT / "tests/handlers/html/states.jsonl") if row["expect"] != "content"]
    passed = [sum(len(ask(wall["html"], wall["url"]).strip()) >= _TEXT for wall in walls) for ask in _OTHERS]
    pages = (injections.scored(CrawledPage(url=wall["url"], html=wall["html"])) for wall in walls)
    own = sum(page is not None and page.state is State.CONTENT for page in pages)
    return [f"walls, errors and empty pages that pass as text, of {len(walls)}", own, *passed]


def _orders() -> list[object]:
    """Texts that address a language model, that no visitor sees, and that are in the extracted text."""
    cases = [case for case in injections.written_cases() if case.hidden and case.instructs][::3]
    url = "https://harbour.example/festival"
    passed = [sum(flat(case.passage) in flat(ask(case.html, url)) for case in cases) for ask in (_assay, *_OTHERS)]
    return [f"hidden orders to language models in the text, of {len(cases)}", *passed]


def _milliseconds() -> list[str]:
    """The mean of each eighth page, after a first one that warms up."""
    timed = [(decoded(page.body()), page.url) for page in list(pages(PAGES))[::_EVERY]]
    cells = []
    for ask in (_assay, *_OTHERS):
        ask(*timed[0])
        began = time.process_time()
        for html, url in timed:
            ask(html, url)
        cells.append(f"{1000 * (time.process_time() - began) / len(timed):.1f}")
    return cells


def _assay(html: str, url: str) -> str:
    page = injections.scored(CrawledPage(url=url, html=html))
    return page.content if page else ""


_OTHERS: tuple[Callable[[str, str], str], ...] = (
    lambda html, url: ask_trafilatura(html, url).text or "",
    lambda html, _: ask_resiliparse(html) or "",
)


if __name__ == "__main__":
    sys.exit(main())
