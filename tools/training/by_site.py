"""Trains the trees with and without some sites: only unseen sites show how good they are.

The input is cases; the result is ``result_trees`` sections, trained on all cases or on those of other sites. Sites are
distributed to folds, and trees that saw none of its sites answer each fold.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handlers.results.classifier import TYPES
from streams.training.config import GrowthSection
from tools.training.cases import Case
from tools.training.trees import Whole, grow

MODES = ("page", "text")
SHORT_WEIGHTS = (0.4, 0.25, 0.05)
"""Weight of all short texts of a type, where all whole texts together have 1: most of them are of items."""
TYPE_WEIGHTS = {"page": (1.0, 1.0, 1.0), "text": (1.0, 1.55, 1.2)}
"""Listings and navigation are rarer in the sets than in searches."""
FOLDS = 8
SEEDS = {"page": (1, 2, 3, 4, 5, 6), "text": (1, 3, 4, 16)}
GROWTH = {
    "page": GrowthSection(trees=120, depth=3, rate=0.16, rows=0.6, columns=0.25, leaf_weight=1.2, penalty=6.0),
    "text": GrowthSection(trees=160, depth=3, rate=0.2, rows=0.6, columns=0.3, leaf_weight=1.2, penalty=6.0),
}


def section(cases: Sequence[Case]) -> dict[str, Any]:
    """The section ``result_trees``, trained on the cases; their order only decides the draw of rows."""
    return {mode: _grown(cases, mode) for mode in MODES}


def held_out(cases: Sequence[Case]) -> Iterator[tuple[Whole, Whole]]:
    """For each fold the numbers of the cases to ask, and of those to grow from: all of other sites."""
    for asked in _folds(cases):
        sites = {cases[number].site for number in asked}
        known = [number for number, case in enumerate(cases) if case.site not in sites]
        yield asked, np.array(known, dtype=np.int64)


def _grown(cases: Sequence[Case], mode: str) -> dict[str, Any]:
    """The trees of the cases that are seen so. Texts have short ones too."""
    rows = [(case, case.measures[mode]) for case in cases if case.is_seen(mode)]
    if mode == "text":
        whole, total = sum(case.weight for case, _ in rows), dict.fromkeys(range(len(TYPES)), 0.0)
        for case in cases:
            for label, _ in case.shorts:
                total[label] += case.weight
        rows += [
            (replace(case, label=label, weight=case.weight * whole * SHORT_WEIGHTS[label] / total[label]), short)
            for case in cases
            for label, short in case.shorts
        ]
    labels = np.array([case.label for case, _ in rows])
    weights = np.array([case.weight * TYPE_WEIGHTS[mode][case.label] for case, _ in rows])
    return grow([measures for _, measures in rows], labels, weights, GROWTH[mode], SEEDS[mode])


def _folds(cases: Sequence[Case]) -> list[Whole]:
    """The cases that count, distributed by site: large sites first, each to the fold with the fewest of its type."""
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        if case.counts:
            numbers.setdefault(case.site, []).append(number)
    folds: list[list[int]] = [[] for _ in range(FOLDS)]
    dealt = np.zeros((FOLDS, len(TYPES)))
    for _, group in sorted(numbers.items(), key=lambda item: (-len(item[1]), item[0])):
        labels = [cases[number].label for number in group]
        fold = min(range(FOLDS), key=lambda number: (dealt[number, labels].sum(), len(folds[number]), number))
        folds[fold] += group
        for label in labels:
            dealt[fold, label] += 1
    return [np.array(fold, dtype=np.int64) for fold in folds if fold]
