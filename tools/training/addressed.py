"""``python -m tools.training.addressed``: fits the weights of what addresses a language model, and writes them.

Texts that address one are the written wordings of the injection cases, and combinations of beginnings and orders. Texts
that do not are the written ordinary ones, and all texts of the labelled pages: hidden, metadata and visible. Wordings
and sites are distributed to folds; weights that saw neither score each fold, and decide the thresholds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from handlers.html.addressed import Addressed, Found
from handlers.html.encoding import page_bytes
from handlers.html.hidden import take_out_hidden
from handlers.html.hints import Hints
from handlers.html.limits import parse_within
from handlers.html.reading import PageReadingSection
from handlers.html.walk import take_out_scripts, walk_page
from handlers.score_page import ScorePageRules
from tests.rules import ADDRESSED, shipped_rules
from tools import labelled

WORDINGS = Path(__file__).parent.parent / "accuracy" / "written" / "injections.yaml"
ABOUT = (
    "Weights of a linear model over words and concepts. Fitted by `python -m tools.training.addressed` on wordings "
    "that were written for Assay, against texts of {pages} labelled public pages; no text of a page is kept. {day}."
)
FOLDS = 5
PENALTY = 1.0
WEIGHTS = {"wording": 1.0, "ordinary": 1.0, "combined": 0.2, "hidden": 0.3, "meta": 0.3, "visible": 0.2}
_SHARE_COMBINED = 0.35
_FALSE_ALARMS = {"quarantined": 0.02, "suspected": 0.005}
"""Of the written ordinary texts, by weights that did not see them. Few of these texts are hidden on real pages."""
_LEAST_WORDS = 3
_LEAST_OTHERS = 2
_LEAST_WEIGHT = 0.03
_MAX_TEXT = 5_000


@dataclass(frozen=True, slots=True)
class Row:
    """One text, or up to three of its sentences: what it has, where it is from, and the fold that must not know it."""

    kind: str
    text: str
    counts: dict[str, float]
    page: int
    folds: tuple[int, int]

    @property
    def addresses(self) -> bool:
        """Whether it addresses a model."""
        return self.kind in ("wording", "combined")


class _Recorder(Addressed):
    """Keeps the texts that it is asked about."""

    def __init__(self, addressed: Addressed) -> None:
        super().__init__(addressed.section)
        self.texts: list[str] = []

    def find_all(self, text: str, least: float, *, is_hidden: bool) -> list[Found]:  # noqa: ARG002
        self.texts += [line[:_MAX_TEXT] for line in text.split("\n")]
        return []


def main() -> int:
    """Evaluates, then fits on everything and writes."""
    parser = argparse.ArgumentParser(prog="python -m tools.training.addressed", description=__doc__)
    parser.add_argument("--evaluate", action="store_true", help="write nothing")
    options = parser.parse_args()
    reading = shipped_rules(ScorePageRules).page_reading
    rows = [*written_rows(reading.addressed.compiled), *page_rows(reading)]
    scores = by_fold(rows)
    limits = report(rows, scores, sum(1 for _ in labelled_pages()))
    if not options.evaluate:
        start, weights = fitted(rows)
        about = ABOUT.format(pages=sum(1 for _ in labelled_pages()), day=f"{datetime.now(UTC):%Y-%m-%d}")
        section = {"about": about, "start": start, **limits, "weights": weights}
        ADDRESSED.write_text(json.dumps(section, ensure_ascii=False, indent=0, sort_keys=False) + "\n", "utf-8")
        print(f"{ADDRESSED.name}: {ADDRESSED.stat().st_size} bytes, {len(weights)} weights")
    return 0


def wordings(what: str) -> Iterator[tuple[str, str]]:
    """The written texts, each with its group."""
    written = yaml.safe_load(WORDINGS.read_text("utf-8"))
    for group, lines in written[what].items():
        yield from ((group, line) for line in lines.splitlines())


def written_rows(addressed: Addressed) -> Iterator[Row]:
    """Wordings, ordinary texts and combinations."""
    for what, kind in (("instructs", "wording"), ("ordinary", "ordinary")):
        for _, text in wordings(what):
            yield Row(kind, text, features_of(addressed, text), -1, (fold(text), fold(text)))
    draw = random.Random(3)
    parts: dict[str, list[str]] = {}
    for group, line in wordings("parts"):
        parts.setdefault(group, []).append(line)
    for beginning in parts["beginnings"]:
        for order in parts["orders"]:
            if draw.random() < _SHARE_COMBINED:
                text = f"{beginning} {order}"
                yield Row("combined", text, features_of(addressed, text), -1, (fold(beginning), fold(order)))


def features_of(addressed: Addressed, text: str) -> dict[str, float]:
    return addressed.features(addressed.sentences(text))


def page_rows(reading: PageReadingSection) -> Iterator[Row]:
    """The texts of the labelled pages that are worth a score."""
    addressed = reading.addressed.compiled
    seen: set[str] = set()
    for number, (folder, case) in enumerate(labelled_pages()):
        site = fold(str(case.get("split_key") or case.get("url") or folder))
        for kind, text in _texts(labelled.body(folder, case), reading):
            if text in seen:
                continue
            seen.add(text)
            for _, sentences in addressed.windows(text, is_hidden=kind != "visible"):
                yield Row(kind, sentences[0].text, addressed.features(sentences), number, (site, site))


def labelled_pages() -> Iterator[tuple[str, dict[str, Any]]]:
    """All pages of all sets, each with the name of its set."""
    for folder in sorted(labelled.DATA.iterdir()) if labelled.DATA.is_dir() else ():
        if (folder / "pages").is_dir():
            yield from ((folder.name, case) for case in labelled.cases(folder.name) if case.get("file"))


def _texts(body: bytes, reading: PageReadingSection) -> Iterator[tuple[str, str]]:
    tree = parse_within(page_bytes(body).utf8, reading)
    if isinstance(tree, str):
        return
    recorder = _Recorder(reading.addressed.compiled)
    if tree.root is not None:
        take_out_hidden(tree, take_out_scripts(tree.root)[1], recorder)
    yield from (("hidden", text) for text in recorder.texts)
    outline = walk_page(tree, Hints(reading), reading.max_nodes)
    yield from (("meta", text) for texts in outline.meta.values() for text in texts if " " in text)
    yield "meta", outline.title
    yield from (("visible", block.text) for block in outline.lines_with_links())


def fold(text: str) -> int:
    """The fold of a wording or a site."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[0] % FOLDS


def by_fold(rows: Sequence[Row]) -> NDArray[np.float64]:
    """The score of each row by weights that saw neither its wording nor its site."""
    scores = np.zeros(len(rows))
    for number in range(FOLDS):
        start, weights = fitted([row for row in rows if number not in row.folds])
        for place, row in enumerate(rows):
            if row.folds[0] == number:
                scores[place] = start + sum(weights.get(name, 0.0) * value for name, value in row.counts.items())
    return scores


def fitted(rows: Sequence[Row]) -> tuple[float, dict[str, float]]:
    """The start and the weights: a logistic regression with a penalty on the squares of the weights."""
    often = Counter(name for row in rows if row.addresses for name in row.counts)
    least = {name: _LEAST_WORDS if " " not in name else _LEAST_OTHERS for name in often}
    names = [name for name, count in often.items() if count >= least[name]]
    number = {name: place for place, name in enumerate(names)}
    pairs = [[(number[name], value) for name, value in row.counts.items() if name in number] for row in rows]
    ends = np.cumsum([0, *map(len, pairs)])
    places = np.array([place for row in pairs for place, _ in row], dtype=np.int64)
    values = np.array([value for row in pairs for _, value in row])
    table = csr_matrix((values, places, ends), shape=(len(rows), len(names)))
    turned = table.T.tocsr()
    sign = np.array([1.0 if row.addresses else -1.0 for row in rows])
    weight = np.array([WEIGHTS[row.kind] for row in rows])

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (table @ point[:-1] + point[-1])
        slope = -weight * sign / (1 + np.exp(np.clip(margin, -30, 30)))
        value = float((weight * np.logaddexp(0, -margin)).sum() + PENALTY / 2 * (point[:-1] ** 2).sum())
        return value, np.concatenate([turned @ slope + PENALTY * point[:-1], [slope.sum()]])

    found: Any = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    weights = {name: round(float(value), 3) for name, value in zip(names, found.x, strict=False)}
    kept = {name: value for name, value in sorted(weights.items()) if abs(value) >= _LEAST_WEIGHT}
    return round(float(found.x[-1]), 3), kept


def report(rows: Sequence[Row], scores: NDArray[np.float64], total: int) -> dict[str, float]:
    """Prints what would be found and what falsely, and returns thresholds.

    Above them are no labelled pages, and at most the share ``_FALSE_ALARMS`` of the written ordinary texts.
    """
    kinds = np.array([row.kind for row in rows])
    pages = np.array([row.page for row in rows])
    limits: dict[str, float] = {}
    for name, asked in (("quarantined", ("hidden", "meta")), ("suspected", ("visible",))):
        best: dict[int, float] = {}
        for place in np.flatnonzero(np.isin(kinds, asked)):
            best[pages[place]] = max(best.get(pages[place], -99.0), scores[place])
        highest = sorted(best.values(), reverse=True)
        of_pages = highest[0] if highest else 0.0
        of_ordinary = float(np.quantile(scores[kinds == "ordinary"], 1 - _FALSE_ALARMS[name]))
        limits[name] = round(max(of_pages, of_ordinary) + 0.01, 2)
        found = (scores[kinds == "wording"] >= limits[name]).mean()
        print(f"{name}: from {limits[name]} on, found {found:.3f}; highest of pages {of_pages:.2f}")
        for allowed in (0, 1, 3, 10, 30):
            if allowed < len(highest):
                found = (scores[kinds == "wording"] > highest[allowed]).mean()
                false = (scores[kinds == "ordinary"] > highest[allowed]).mean()
                print(
                    f"{name}: {allowed} pages from {highest[allowed]:.2f} on, found {found:.3f}, ordinary {false:.3f}"
                )
    for least in (-1, -2, -3, -4):
        share = (scores[kinds == "wording"] > least).mean()
        asked_pages = {
            row.page for row, score in zip(rows, scores, strict=True) if row.kind == "hidden" and score > least
        }
        print(f"doubtful from {least} on: found {share:.3f}, hidden text of {len(asked_pages)} of {total} pages")
    return limits | {"doubtful": -3.0}


if __name__ == "__main__":
    sys.exit(main())
