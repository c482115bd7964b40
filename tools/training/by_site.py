"""Trains the trees with and without some sites: only unseen sites show how good they are.

The input is cases; the result is ``result_trees`` sections, trained on all cases or on those of other sites. Sites are
distributed to folds, and trees that saw none of its sites answer each fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handlers.results.classifier import TYPES
from tools.training.boosting import Floats, Grown, Recipe, Whole, grow, predict, written
from tools.training.cases import Case

MODES = ("page", "text")
SHORT_SHARE = 0.5
"""Weight of each of a page's short texts."""
FOLDS = 8
SEEDS = {"page": (1, 2, 3, 4), "text": (1, 3, 4, 16)}
RECIPES = {"page": Recipe(), "text": Recipe(rounds=80, rate=0.1, columns=0.3)}


def section(cases: Sequence[Case], about: str = "") -> dict[str, Any]:
    """The section ``result_trees``, trained on the cases; their order only decides the draw of rows."""
    found: dict[str, Any] = {"about": about}
    for mode in MODES:
        names, table, rows = as_table(cases, mode)
        start, trees = _grown(rows, table, mode)
        found[mode] = {
            "measures": names,
            "start": [round(value, 4) for value in start],
            "trees": written(trees),
        }
    return found


def held_out(cases: Sequence[Case]) -> Iterator[tuple[Whole, Whole]]:
    """For each fold the numbers of the cases to ask, and of those to grow from: all of other sites."""
    for asked in _folds(cases):
        sites = {cases[number].site for number in asked}
        known = [number for number, case in enumerate(cases) if case.site not in sites]
        yield asked, np.array(known, dtype=np.int64)


def cross_validate(cases: Sequence[Case], mode: str) -> Floats:
    """The trees' scores of each case that counts, by trees that never saw its site; all cases must be seen so."""
    scores = np.zeros((len(cases), len(TYPES)))
    for asked, known in held_out(cases):
        names, table, rows = as_table([cases[number] for number in known], mode)
        start, trees = _grown(rows, table, mode)
        unseen = [[cases[number].measures[mode].get(name, 0.0) for name in names] for number in asked]
        scores[asked] = predict(start, trees, np.array(unseen))
    return scores


def as_table(cases: Sequence[Case], mode: str) -> tuple[list[str], Floats, list[Case]]:
    """Names of the measures, a row of them for each case that is seen so, and its case. Texts have short ones too."""
    rows = [(case, case.measures[mode]) for case in cases if case.is_seen(mode)]
    if mode == "text":
        rows += [(replace(case, weight=case.weight * SHORT_SHARE), short) for case in cases for short in case.shorts]
    names = sorted({name for _, measures in rows for name in measures})
    return (
        names,
        np.array([[measures.get(name, 0.0) for name in names] for _, measures in rows]),
        [case for case, _ in rows],
    )


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


def _grown(cases: Sequence[Case], table: Floats, mode: str) -> tuple[list[float], list[Grown]]:
    """Trees of several seeds, averaged: their leaves are shared out."""
    wanted = np.eye(len(TYPES))[[case.label for case in cases]]
    weights = np.array([case.weight for case in cases])
    start: list[float] = []
    trees: list[Grown] = []
    for seed in SEEDS[mode]:
        start, grown = grow(table, wanted, weights, replace(RECIPES[mode], seed=seed))
        trees += [replace(tree, leaves=[leaf / len(SEEDS[mode]) for leaf in tree.leaves]) for tree in grown]
    return start, trees
