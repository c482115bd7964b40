"""``python -m tools.training``: trains the trees for result types, evaluates them by site, and writes them.

They are evaluated before anything is written. Sites are distributed to folds, and trees trained without its sites
answer each fold. ``tools/accuracy`` measures the whole classifier, with its
short texts. ``--evaluate`` stops there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from handlers.results.classifier import TYPES
from tests.rules import TREES
from tools.training.by_site import MODES, cross_validate, section
from tools.training.cases import Case, read_cases
from tools.training.trees import Floats

ABOUT = (
    "Gradient-boosted trees over counts and shares of labelled public pages; no text or address of a page is kept. "
    "Grown by `python -m tools.training` on {sets}. Labels: wcxb (Murrough Foley, WCXB 2026, CC-BY-4.0), Formasaurus "
    "and autopager (TeamHG-Memex, MIT), GerapyAutoExtractor and magic-html (Apache-2.0), htmldate and Trafilatura, "
    "fundus, postlight, readability, product-extraction-benchmark (Apache-2.0 or MIT). {day}."
)


def main() -> int:
    """Evaluates, then grows on everything and writes."""
    parser = argparse.ArgumentParser(prog="python -m tools.training", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args()
    cases = list(read_cases())
    if not cases:
        print("skipped: no labelled pages; set DATA to where they are")
        return 0
    for mode in MODES:
        seen = [case for case in cases if case.is_seen(mode)]
        print(f"{mode:5} {report(seen, cross_validate(seen, mode))}")
    if not options.evaluate:
        write(cases)
    return 0


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
    grown = section(cases, ABOUT.format(sets=sets, day=f"{datetime.now(UTC):%Y-%m-%d}"))
    # One tree a line: a change of the trees is a change of lines.
    text = json.dumps(grown, ensure_ascii=False, separators=(",", ":"))
    TREES.write_text(text.replace('{"of"', '\n{"of"').replace('],"start"', '],\n"start"') + "\n", "utf-8")
    print(f"{TREES.name}: {TREES.stat().st_size} bytes")


if __name__ == "__main__":
    sys.exit(main())
