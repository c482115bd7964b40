"""``python -m tests.training``: grows the trees for result types, evaluates them by site, and writes them.

They are evaluated before anything is written: sites are dealt into folds, each fold is answered by trees that were
grown without its sites, as shipped (with the cues' share). ``--evaluate`` stops there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from handlers.classify_results import ClassifyResultsRules
from handlers.results.sections import TrainedShare
from tests.rules import TREES, shipped_rules
from tests.training.boosting import Floats, Grown, Recipe, Whole, grow, predict
from tests.training.cases import TYPES, Case, read_cases

FOLDS = 8
SEEDS = (1, 2)
RECIPE = Recipe(rounds=60, depth=3, rate=0.13, columns=0.15)
ABOUT = (
    "Gradient-boosted trees over counts and shares of labelled public pages; no text or address of a page is kept. "
    "Grown by `python -m tests.training` on {sets}. Labels: wcxb (Murrough Foley, WCXB 2026, CC-BY-4.0), Formasaurus "
    "and autopager (TeamHG-Memex, MIT), GerapyAutoExtractor and magic-html (Apache-2.0), htmldate and Trafilatura, "
    "fundus, postlight, readability, product-extraction-benchmark (Apache-2.0 or MIT). {day}."
)


def main(arguments: list[str] | None = None) -> int:
    """Evaluates, then grows on everything and writes."""
    parser = argparse.ArgumentParser(prog="python -m tests.training", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    cases = list(read_cases())
    if not cases:
        print("skipped: no labelled pages; set DATA to where they are")
        return 0
    share = shipped_rules(ClassifyResultsRules).classification.trained
    for mode in ("page", "text"):
        _, table = as_table(cases, mode)
        answers = cross_validate(cases, table)
        for title, scores in _compared(cases, mode, answers, share):
            print(f"{mode:5} {title:12} {report(cases, scores)}")
    if not options.evaluate:
        write(cases)
    return 0


def as_table(cases: Sequence[Case], mode: str) -> tuple[list[str], Floats]:
    """Names of the measures, and a row of them for each case."""
    names = list(cases[0].measures[mode])
    return names, np.array([[case.measures[mode][name] for name in names] for case in cases])


def cross_validate(cases: Sequence[Case], table: Floats) -> Floats:
    """The trees' scores of each case, by trees that never saw its site."""
    scores = np.zeros((len(cases), len(TYPES)))
    for asked in _folds(cases):
        sites = {cases[number].site for number in asked}
        known = [number for number, case in enumerate(cases) if case.site not in sites]
        start, trees = _grown([cases[number] for number in known], table[known])
        scores[asked] = predict(start, trees, table[asked])
    return scores


def report(cases: Sequence[Case], scores: Floats) -> str:
    """Macro-F1, and recall and precision of each type, over the cases that count."""
    matrix = np.zeros((len(TYPES), len(TYPES)), dtype=np.int64)
    for case, answer in zip(cases, scores.argmax(1), strict=True):
        if case.counts:
            matrix[case.label, answer] += 1
    right = matrix.diagonal()
    labelled, answered = matrix.sum(1), matrix.sum(0)
    f1 = 2 * right / np.maximum(1, labelled + answered)
    each = "  ".join(
        f"{kind} {right[number] / max(1, labelled[number]):.2f}/{right[number] / max(1, answered[number]):.2f}"
        for number, kind in enumerate(TYPES)
    )
    return f"macro-F1 {f1.mean():.3f}  recall/precision: {each}  {matrix.tolist()}"


def write(cases: Sequence[Case]) -> None:
    """Grows on every case and writes the section ``result_trees``."""
    sets = ", ".join(dict.fromkeys(case.set for case in cases))
    section: dict[str, Any] = {"about": ABOUT.format(sets=sets, day=f"{datetime.now(UTC):%Y-%m-%d}")}
    for mode in ("page", "text"):
        names, table = as_table(cases, mode)
        start, trees = _grown(cases, table)
        section[mode] = {
            "measures": names,
            "start": [round(value, 4) for value in start],
            "trees": [
                {
                    "of": tree.of,
                    "measures": tree.measures,
                    "thresholds": [float(f"{value:.6g}") for value in tree.thresholds],
                    "leaves": [float(f"{value:.3g}") for value in tree.leaves],
                }
                for tree in trees
            ],
        }
    # One tree a line: a change of the trees is a change of lines.
    text = json.dumps(section, ensure_ascii=False, separators=(",", ":"))
    TREES.write_text(text.replace('{"of"', '\n{"of"').replace('],"start"', '],\n"start"') + "\n", "utf-8")
    print(f"{TREES.name}: {TREES.stat().st_size} bytes")


def _compared(cases: Sequence[Case], mode: str, trees: Floats, share: TrainedShare) -> Iterator[tuple[str, Floats]]:
    cues = np.array([case.by_cues[mode] for case in cases])
    yield "cues", cues
    yield "trees", trees
    both = trees + share.cue_share * cues
    both[:, 1] += share.towards_aggregator
    few = np.array([case.words < share.min_words for case in cases])
    yield "as shipped", np.where(few[:, None], cues, both)


def _folds(cases: Sequence[Case]) -> list[Whole]:
    """The cases that count, dealt by site: sites with many first, each to the fold with the fewest of its type."""
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


def _grown(cases: Sequence[Case], table: Floats) -> tuple[list[float], list[Grown]]:
    """Trees of several seeds, averaged: their leaves are shared out."""
    labels = np.array([case.label for case in cases])
    weights = np.array([case.weight for case in cases])
    start: list[float] = []
    trees: list[Grown] = []
    for seed in SEEDS:
        start, grown = grow(table, labels, weights, replace(RECIPE, seed=seed))
        trees += [replace(tree, leaves=[leaf / len(SEEDS) for leaf in tree.leaves]) for tree in grown]
    return start, trees


if __name__ == "__main__":
    sys.exit(main())
