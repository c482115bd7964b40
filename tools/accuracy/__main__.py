"""``make accuracy``: how often Assay is right on labelled pages, compared with other tools for the same task.

Without the labelled pages it prints one line and ends with status 0.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
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
    pages,
    ranking,
    relevance,
    result_types,
    retrieval,
    sources,
)
from tools.accuracy.judges import bill_table, judges
from tools.accuracy.labels import SETS
from tools.accuracy.measure import Measures, Setup, measured

Part = Callable[[Setup], Measures]
SECTIONS: dict[str, dict[str, Part]] = {
    "": {
        "dates": pages.dates, "authors": pages.authors, "features": pages.features, "content": pages.content,
        "evidence": evidence.measures,
    },
    "results": {"results": result_types.measures, "listings": listings.measures},
    "judges": {"claims": claims.measures, "relevance": relevance.measures, "retrieval": retrieval.measures},
    "queries": {"ranking": ranking.measures},
    "agreement": {"sources": sources.measures},
    "injections": {"injections": injections.measures},
}  # fmt: skip
"""The parts whose figures are in one section of the docs."""
PARTS = tuple(part for parts in SECTIONS.values() for part in parts)
_OF_LABELS = {"dates", "authors", "features"}


def main() -> int:
    """Measures and prints; returns 0 also where there is nothing to measure on, 1 where a page raised."""
    options = _options()
    present = tuple(name for name in options.set if labelled.has(name))
    if not present:
        labelled.skipped()
        return 0
    for section, parts in SECTIONS.items():
        if asked := [part for part in parts if part in options.only]:
            text = asyncio.run(_section(section, asked, present, options))
            print(text)
            if options.write and section == "agreement":
                table.write(sources.lists_table(), table.marks("lists"), sources.PAGE)
            if options.write:
                table.write(text, table.marks(section), sources.PAGE if section == "agreement" else "accuracy.md")
    asked_pages = pages.answered(present) if _OF_LABELS & set(options.only) else []
    return int(any(answers[contestants.ASSAY].raised for _, answers in asked_pages))


async def _section(section: str, parts: list[str], present: tuple[str, ...], options: argparse.Namespace) -> str:
    """The tables of a section, by the offline judge and the model that the settings name."""
    settings, tables = load_settings(), []
    if not section:
        others = contestants.versions() or "htmldate and trafilatura are not installed (`make accuracy` installs them)"
        tables.append(f"{table.machine()}; selectolax {version('selectolax')}, {others}.\n")
    async with judges(settings, options.most_cases, options.most_usd) as every:
        setup = Setup(
            sets=present, settings=settings, judges=every, most_queries=options.most_queries, cases=options.cases
        )
        for part in parts:
            async for measure in SECTIONS[section][part](setup):
                tables.append(await measured(measure, options.misses))
        if any(judge.answers for judge in every):
            tables.append(bill_table(every))
    return "\n".join(tables)


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
    parser.add_argument("--write", action="store_true", help="put the figures into the docs")
    options = parser.parse_args()
    for section in map(set, SECTIONS.values()) if options.write else ():
        if not section.isdisjoint(options.only) and (missing := section.difference(options.only)):
            parser.error(f"--write replaces a whole section; add {' '.join(sorted(missing))} to --only")
    if options.write and options.cases:
        parser.error("--write is for the written cases; leave out --cases")
    return options


if __name__ == "__main__":
    sys.exit(main())
