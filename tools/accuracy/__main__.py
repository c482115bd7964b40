"""``make accuracy``: how often Assay is right on labelled pages, compared with other tools for the same task.

Without the labelled pages it prints one line and ends with status 0.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from streams.settings.model import load_settings
from tools import labelled, table
from tools.accuracy import (
    claims,
    contestants,
    evidence,
    injections,
    listings,
    page_content,
    ranking,
    relevance,
    result_types,
    retrieval,
    sources,
)
from tools.accuracy.contestants import ASSAY
from tools.accuracy.judges import bill_table, judges
from tools.accuracy.labels import SETS, pages
from tools.accuracy.measure import MEASURES, Asked, measured
from tools.training.authors import AUTHORS
from tools.training.dates import DATES

SECTIONS = {
    "": (*MEASURES, "content", "evidence"),
    "results": ("results", "listings"),
    "judges": ("claims", "relevance", "retrieval"),
    "queries": ("ranking",),
    "sources": ("sources",),
    "injections": ("injections",),
}
"""The parts whose figures are in one section of the docs."""
_OF_PAGES = {"content": page_content.run, "evidence": evidence.run}
_TYPED = {"results": result_types.run, "listings": listings.run}
_JUDGED = {"claims": claims.run, "relevance": relevance.run, "retrieval": retrieval.run}
PARTS = tuple(part for parts in SECTIONS.values() for part in parts)


def main() -> int:
    """Measures and prints; returns 0 also where there is nothing to measure on, 1 where a page raised."""
    options = _options()
    present = [name for name in options.set if labelled.has(name)]
    if not present:
        print(f"skipped: no labelled pages below {labelled.DATA}; set DATA to where they are")
        return 0
    parts = set(options.only)
    raised, of_pages = _of_pages(parts, present, options.misses)
    figures = {
        "": of_pages,
        "results": [text for part, run in _TYPED.items() if part in parts for text in run()],
        "injections": injections.run(options.cases) if "injections" in parts else [],
    } | asyncio.run(_judged(parts, options))
    listed = sources.measure() if "sources" in parts else ""
    print(*("\n".join(texts) for texts in figures.values()), listed, sep="\n")
    for name, texts in figures.items() if options.write else ():
        if texts and not (name == "injections" and options.cases):
            table.write("\n".join(texts), table.marks(name))
    if options.write and listed:
        table.write(sources.lists_table(), table.marks("lists"), sources.PAGE)
        table.write(listed, table.marks("agreement"), sources.PAGE)
    return 1 if raised else 0


def _of_pages(parts: set[str], present: list[str], misses: int) -> tuple[int, list[str]]:
    """How many pages raised, and the tables of the parts that are measured on pages."""
    raised, tables = 0, []
    if parts & MEASURES.keys():
        asked = contestants.answers([page for name in present for page in pages(name)])
        for place, answer in ((page.place, answers[ASSAY]) for page, answers in asked):
            raised += answer.raised
            if answer.failed:
                print(f"no answer for {place}: {answer.failed}")
        asked = _by_site(asked) if parts & {"dates", "authors"} else asked
        for measure in (measure for part in MEASURES if part in parts for measure in MEASURES[part]):
            found = measured(measure, asked)
            tables.append(found.table())
            print(*found.misses[:misses], sep="\n")
    tables += [text for part, run in _OF_PAGES.items() if part in parts for text in run()]
    return raised, [_heading(), *tables] if tables else []


async def _judged(parts: set[str], options: argparse.Namespace) -> dict[str, list[str]]:
    """The tables for the offline judge and the model that the settings name, and what answers take, by section."""
    figures: dict[str, list[str]] = {"judges": [], "queries": []}
    settings = load_settings()
    for section, texts in figures.items():
        async with judges(settings, options.most_cases, options.most_usd) as every:
            for part in SECTIONS[section]:
                if part == "ranking" and part in parts:
                    texts += await ranking.run(every, settings, options.most_queries)
                elif part in parts:
                    texts += await _JUDGED[part](every)
            if texts:
                texts.append(bill_table(every))
    return figures


def _by_site(asked: Asked) -> Asked:
    """Shipped trees have seen these pages, so trees of other sites answer for dates and authors."""
    days, names = DATES.by_site(), AUTHORS.by_site()
    return [
        (page, answers | {ASSAY: replace(own, date=days.get(page.place, own.date),
                                         authors=names.get(page.place, own.authors))})
        for page, answers in asked
        for own in [answers[ASSAY]]
    ]  # fmt: skip


def _heading() -> str:
    others = contestants.versions() or "htmldate and trafilatura are not installed (`make accuracy` installs them)"
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine}; selectolax {version('selectolax')}, {others}.\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts")
    parser.add_argument("--set", nargs="+", choices=SETS, default=SETS, help="some sets")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="show the first N misses of each question")
    parser.add_argument(
        "--most-cases", type=int, default=50, metavar="N", help="of each set, that a model is asked about"
    )
    parser.add_argument("--most-usd", type=float, default=1.0, metavar="USD", help="beyond which no model is asked")
    parser.add_argument("--most-queries", type=int, metavar="N", help="of each set and kind, that are measured")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="injection cases, one JSON object a line")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/accuracy.md")
    options = parser.parse_args()
    for section in map(set, SECTIONS.values()) if options.write else ():
        if not section.isdisjoint(options.only) and (missing := section.difference(options.only)):
            parser.error(f"--write replaces a whole section; add {' '.join(sorted(missing))} to --only")
    return options


if __name__ == "__main__":
    sys.exit(main())
