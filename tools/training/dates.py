"""``python -m tools.training.dates``: trains the trees for the date of a page, evaluates them by site, writes them.

A candidate is right if its day is labelled. Each page counts once more without the candidates that are right, once
with those that are shown alone, and once with a part of its candidates: so the trees learn to abstain, and do not rely
on one source. Shown days of pages without a labelled date are wrong, if no metadata state a date of publication. Sites
are distributed to folds, and trees that saw none of its sites answer each page.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import numpy as np

from handlers.html import content
from handlers.html.links import host_of, registrable_domain
from handlers.html.published_date import Candidate, DatedPage, DateWords, candidates, choose, measured
from handlers.text.dates import day_of
from handlers.trees.forest import Forest, Trees
from streams.training.config import GrowthSection
from tests.rules import DATE_TREES
from tools import labelled
from tools.accuracy.contestants import ask_assay
from tools.accuracy.labels import SETS, LabelledPage, pages
from tools.training.by_site import FOLDS
from tools.training.trees import grow

ABOUT = (
    "Gradient-boosted trees over counts and distances of dates on labelled public pages; no text or address of a page "
    "is kept. Grown by `python -m tools.training.dates` on {sets}. {day}."
)
GROWTH = GrowthSection(trees=80, depth=3, rate=0.12, rows=0.7, columns=0.3, leaf_weight=1.5, penalty=4.0)
SEEDS = (1,)
_PARTLY, _UNLABELLED = 0.4, 0.4
"""Weights of a page with a part of its candidates, and of one without a labelled date."""
_SHARE_KEPT = 0.6


Measures = list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class Page:
    """A labelled page with its candidates, and what trees learn from it: measures, whether each is right, weight."""

    label: LabelledPage
    found: list[Candidate]
    measures: Measures
    lessons: list[tuple[Measures, list[float], float]] = field(default_factory=list)

    @property
    def fold(self) -> int:
        """Pages of one site are in one fold."""
        site = registrable_domain(host_of(self.label.case.get("url") or "")) or self.label.id
        return hashlib.sha256(site.encode()).digest()[0] % FOLDS


def main(arguments: list[str] | None = None) -> int:
    """Evaluates, then grows on everything and writes."""
    parser = argparse.ArgumentParser(prog="python -m tools.training.dates", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    sets = [name for name in SETS if labelled.has(name)]
    if not sets:
        print("skipped: no labelled pages; set DATA to where they are")
        return 0
    known = [page for name in sets for page in _read(name)]
    answers = _by_site(known)
    asked = [page.label for page in known if page.label.days]
    said = [answers[label.place] for label in asked]
    right = sum(day in label.days for day, label in zip(said, asked, strict=True))
    print(f"{len(asked)} dates: {right / len(asked):.3f} right, precision {right / (len(said) - said.count(None)):.3f}")
    if not options.evaluate:
        about = ABOUT.format(sets=", ".join(sets), day=f"{datetime.now(UTC):%Y-%m-%d}")
        text = json.dumps({"about": about} | _grown(known), separators=(",", ":"))
        DATE_TREES.write_text(text.replace('{"of"', '\n{"of"') + "\n", "utf-8")
        print(f"{DATE_TREES.name}: {DATE_TREES.stat().st_size} bytes")
    return 0


def by_site() -> dict[str, str | None]:
    """The day of each labelled page, by trees that saw none of its site."""
    return _by_site([page for name in SETS if labelled.has(name) for page in _read(name)])


def _by_site(known: Sequence[Page]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for fold in range(FOLDS):
        forest = Forest(Trees.model_validate(_grown([page for page in known if page.fold != fold])))
        for page in known:
            if page.fold == fold:
                best = choose(page.found, [forest.scores(one)[0] for one in page.measures])
                found[page.label.place] = day_of(best.value).isoformat() if best else None
    return found


def _grown(known: Sequence[Page]) -> dict[str, Any]:
    lessons = [lesson for page in known for lesson in page.lessons]
    names = sorted({name for measures, _, _ in lessons for one in measures for name in one})
    table = np.array([[one.get(name, 0.0) for name in names] for measures, _, _ in lessons for one in measures])
    wanted = np.array([is_right for _, rights, _ in lessons for is_right in rights])
    weights = np.array([weight * len(rights) ** -0.5 for _, rights, weight in lessons for _ in rights])
    return grow(names, table, wanted, weights / weights.mean(), GROWTH, SEEDS)


def _read(name: str) -> Iterator[Page]:
    """The pages of a set on which a date is found, with what each teaches."""
    for label in pages(name):
        kept: list[tuple[DatedPage, list[Candidate]]] = []

        def keep(page: DatedPage, words: DateWords, kept: Any = kept) -> None:
            kept.append((page, candidates(page, words)))

        with patch.object(content, "find_date", keep):
            ask_assay(label.body(), label.url)
        for page, found in kept:
            read = Page(label, found, measured(found, page))
            days = [day_of(one.value).isoformat() for one in found]
            if label.days:
                right = [one for one, day in zip(found, days, strict=True) if day in label.days]
                draw = random.Random(label.id)
                parts = (
                    [one for one in found if one not in right],
                    [one for one in found if one.index >= 0 or one.kind == "url"],
                    [one for one in found if draw.random() < _SHARE_KEPT],
                )
                for part, weight in ((found, 1.0), *((part, _PARTLY) for part in parts if len(part) < len(found))):
                    if part:
                        read.lessons.append((measured(part, page), [float(one in right) for one in part], weight))
            elif found and not any(one.said == "published" and one.index < 0 for one in found):
                read.lessons.append((read.measures, [0.0] * len(found), _UNLABELLED))
            yield read


if __name__ == "__main__":
    sys.exit(main())
