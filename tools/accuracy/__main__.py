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
from tools import labelled
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
    table,
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
PARTS = tuple(part for parts in SECTIONS.values() for part in parts)


def main() -> int:
    """Measures and prints; returns 0 also where there is nothing to measure on, 1 where a page raised."""
    options = _options()
    present = [name for name in options.set if labelled.has(name)]
    if not present:
        print(f"skipped: no labelled pages below {labelled.DATA}; set DATA to where they are")
        return 0
    parts = set(options.only)
    limits = options.most_cases, options.most_usd
    raised, tables = _of_pages(parts, present, options.misses)
    judged = asyncio.run(_judged(parts & set(SECTIONS["judges"]), *limits))
    typed = [line for part, run in (("results", result_types.run), ("listings", listings.run)) if part in parts
             for line in run()]  # fmt: skip
    ranked = asyncio.run(_ranked(*limits, options.most_queries)) if "ranking" in parts else ""
    listed = sources.measure() if "sources" in parts else ""
    injected = "\n".join(injections.run(options.cases)) if "injections" in parts else ""
    figures = {"": tables, "results": "\n".join(typed), "judges": judged, "queries": ranked, "injections": injected}
    print(*figures.values(), listed, sep="\n")
    for name, text in figures.items() if options.write else ():
        if text and not (name == "injections" and options.cases):
            table.write(text, table.marks(name))
    if options.write and listed:
        table.write(sources.lists_table(), table.marks("lists"), sources.PAGE)
        table.write(listed, table.marks("agreement"), sources.PAGE)
    return 1 if raised else 0


def _of_pages(parts: set[str], present: list[str], misses: int) -> tuple[int, str]:
    """How many pages raised, and the tables of the parts that are measured on pages."""
    raised, tables = 0, []
    if parts & MEASURES.keys():
        asked = contestants.answers([page for name in present for page in pages(name)])
        for place, answer in ((page.place, answers[ASSAY]) for page, answers in asked):
            raised += answer.raised
            if answer.failed:
                print(f"no answer for {place}: {answer.failed}")
        for measure in (measure for part in MEASURES if part in parts for measure in MEASURES[part]):
            found = measured(measure, _by_site(asked) if parts & {"dates", "authors"} else asked)
            tables.append(found.table())
            print(*found.misses[:misses], sep="\n")
    if "content" in parts:
        tables += page_content.run()
    if "evidence" in parts:
        tables += evidence.run()
    return raised, "\n".join([_heading(), *tables]) if tables else ""


async def _judged(parts: set[str], most_cases: int, most_usd: float) -> str:
    """The tables of parts for the offline judge and the model that the settings name, and what answers take."""
    if not parts:
        return ""
    lines: list[str] = []
    async with judges(load_settings(), most_cases, most_usd) as some:
        for part, run in (("claims", claims.run), ("relevance", relevance.run), ("retrieval", retrieval.run)):
            if part in parts and (tables := await run(some)):
                lines += [*tables, ""]
        return "\n".join([*lines, bill_table(some)])


async def _ranked(most_cases: int, most_usd: float, most_queries: int | None) -> str:
    """The tables of queries, which have their own section; "" without a set."""
    settings = load_settings()
    async with judges(settings, most_cases, most_usd) as some:
        lines = await ranking.run(some, settings, most_queries)
        return "\n".join([*lines, bill_table(some)]) if lines else ""


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
