"""``make accuracy``: how often Assay is right on labelled pages, compared with other tools for the same task.

Without the labelled pages it prints one line and ends with status 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools import labelled
from tools.accuracy import (
    contestants,
    errors,
    evidence,
    features,
    fetching,
    injections,
    judging,
    listings,
    main_text,
    page_content,
    result_types,
    sources,
    table,
)
from tools.accuracy.counting import Tally
from tools.accuracy.labels import SCHEMA_SET, SETS, pages
from tools.training.authors import AUTHORS
from tools.training.dates import DATES

PARTS = (
    "dates", "authors", "text", "content", "injections", "features", "results", "listings", "evidence", "errors",
    "fetching", "claims", "relevance", "searches", "retrieval", "attacks", "ranking", "sources",
)  # fmt: skip
JUDGED = {"claims", "relevance", "searches", "retrieval", "attacks"}
RESULTS = {"results", "listings"}
RANKING = {"ranking"}
SOURCES = {"sources"}
INJECTIONS = {"injections"}
PAGES = set(PARTS) - JUDGED - RESULTS - RANKING - SOURCES - INJECTIONS
SECTIONS = (PAGES, RESULTS, JUDGED, RANKING, SOURCES, INJECTIONS)
"""Parts whose figures are in one section of the docs."""
_OF_PAGES = {"dates", "authors", "text", "features"}


class Run:
    """What one run has measured: tables to print, tallies with their misses, and everything as data."""

    def __init__(self) -> None:
        self.tables: list[str] = []
        self.tallies: list[Tally] = []

    def add(self, tally: Tally, *, counts: bool = False) -> None:
        """Takes a tally with its table."""
        self.tallies.append(tally)
        self.tables.append(table.tally_table(tally) + ("\n" + table.counts_table(tally) if counts else ""))

    def text(self) -> str:
        """All tables."""
        return "\n".join(self.tables)

    def data(self) -> dict[str, Any]:
        """All counts."""
        return {
            "tallies": {
                tally.question: {
                    f"{group}: {name}": {"labelled": count.labelled, "right": count.right, "wrong": count.wrong}
                    for (group, name), count in tally.counts.items()
                }
                for tally in self.tallies
            },
        }


def main() -> int:
    """Measures and prints; returns 0 also where there is nothing to measure on, 1 where a page raised."""
    options = _options()
    present = [name for name in options.set if labelled.has(name)]
    if not present:
        print(f"skipped: no labelled pages below {labelled.DATA}; set DATA to where they are")
        return 0
    run, parts, heading = Run(), set(options.only), _heading()
    raised = measure(run, parts, present)
    print(heading, run.text(), sep="\n")
    measured_results = (("results", result_types.run), ("listings", listings.run))
    typed = "\n".join(line for part, run_part in measured_results if part in parts for line in run_part())
    print(typed)
    limits = options.most_cases, options.most_usd
    judged = asyncio.run(judging.measure(parts & JUDGED, *limits))
    print(judged)
    ranked = asyncio.run(judging.measure_ranking(*limits, options.most_queries)) if "ranking" in parts else ""
    print(ranked)
    listed = sources.measure() if parts & SOURCES else ""
    print(listed)
    injected = "\n".join(injections.run(options.cases)) if parts & INJECTIONS else ""
    print(injected)
    for tally in run.tallies if options.misses else ():
        print(table.misses(tally, options.misses))
    if options.json:
        options.json.write_text(json.dumps(run.data(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    if options.write:
        measured = (
            (f"{heading}\n{run.text()}" if parts & PAGES else "", table.FIGURES),
            (typed, table.RESULT_FIGURES),
            (judged, table.JUDGED_FIGURES),
            (ranked, table.RANKING_FIGURES),
            ("" if options.cases else injected, table.INJECTION_FIGURES),
        )
        for text, marks in measured:
            if text:
                table.write(text, marks)
        if listed:
            table.write(sources.lists_table(), sources.LIST_FIGURES, sources.PAGE)
            table.write(listed, sources.AGREEMENT_FIGURES, sources.PAGE)
    return 1 if raised else 0


def measure(run: Run, parts: set[str], present: list[str]) -> int:
    """Measures the parts on the sets that are there; returns how many pages raised."""
    raised = 0
    labelled_pages = [page for name in present if name != SCHEMA_SET for page in pages(name)]
    if parts & _OF_PAGES and labelled_pages:
        raised += _of_pages(run, parts, contestants.answers(labelled_pages))
    if "content" in parts:
        run.tables.append("\n".join(page_content.run()))
    if "evidence" in parts:
        run.tables.append("\n".join(evidence.run()))
    if "fetching" in parts and (fetched := fetching.measure()).rows:
        run.tables.append(fetched.table())
        print(*(f"wrong: {wrong}" for wrong in fetched.wrong), sep="\n")
    if "errors" in parts:
        found = errors.read_all()
        run.tables.append(table.errors_table(found))
        raised += len(found.raised)
    return raised


def _of_pages(run: Run, parts: set[str], asked: features.Asked) -> int:
    failed = features.failures(asked, contestants.ASSAY)
    for place, answer in failed:
        print(f"no answer for {place}: {answer.failed}")
    if not any(contestants.TRAFILATURA in answers for _, answers in asked):
        print("Assay alone: htmldate and trafilatura are not installed (`make accuracy` installs them)")
    if "dates" in parts:
        run.add(features.dates(asked, DATES.by_site()), counts=True)
    if "authors" in parts:
        run.add(features.authors(asked, AUTHORS.by_site()), counts=True)
    if "text" in parts:
        wanted, unwanted = main_text.snippets(asked)
        run.tallies += [wanted, unwanted]
        run.tables += [table.snippet_table(wanted), table.snippet_table(unwanted)]
        if gold := main_text.gold(asked):
            run.tables.append(table.gold_table(gold))
    if "features" in parts:
        for tally in (*features.texts(asked), *features.flags(asked)):
            run.add(tally)
    return sum(answer.raised for _, answer in failed)


def _heading() -> str:
    others = contestants.versions()
    versions = f"selectolax {version('selectolax')}{f', {others}' if others else ''}"
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start"
    return f"{datetime.now(UTC):%Y-%m-%d}, {machine}; {versions}.\n"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.accuracy", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts")
    parser.add_argument("--set", nargs="+", choices=(*SETS, SCHEMA_SET), default=(*SETS, SCHEMA_SET), help="some sets")
    parser.add_argument("--misses", type=int, default=0, metavar="N", help="show the first N misses of each question")
    parser.add_argument(
        "--most-cases", type=int, default=50, metavar="N", help="of each set, that a model is asked about"
    )
    parser.add_argument("--most-usd", type=float, default=1.0, metavar="USD", help="beyond which no model is asked")
    parser.add_argument("--most-queries", type=int, metavar="N", help="of each set and kind, that are measured")
    parser.add_argument("--cases", type=Path, metavar="FILE", help="injection cases, one JSON object a line")
    parser.add_argument("--json", type=Path, help="keep the counts")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/accuracy.md")
    options = parser.parse_args()
    for section in SECTIONS if options.write else ():
        if not section.isdisjoint(options.only) and (missing := section.difference(options.only)):
            parser.error(f"--write replaces a whole section; add {' '.join(sorted(missing))} to --only")
    return options


if __name__ == "__main__":
    sys.exit(main())
