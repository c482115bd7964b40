"""``python -m tools.training.states``: fits the weights of what lines say of their pages, and writes them.

Lines that say something are written (``states.txt``). Lines that say nothing are written too, or are from the main text
and the titles of the labelled pages. ``docs/states.md`` measures them on other pages.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from handlers.html.addressed import sentence_bounds
from handlers.html.content import PageFacts
from handlers.html.notices import NoticesSection, features_of
from handlers.score_page import ScorePageRules
from schemas.states import State
from tests.rules import NOTICES, shipped_rules
from tools import labelled

WRITTEN = Path(__file__).with_name("states.txt")
STATES = tuple(State)
PENALTY, LEAST_WEIGHT = 0.5, 0.2
OF_PAGES = 0.03
"""The weight of a line of a page; a page may also say what a wall says."""
MOST_LINES, LONGEST = 60, 300
_MOST = 36
"""Tenths of a weight."""


class Row(NamedTuple):
    """A line, what it says, and how much it counts."""

    state: State
    text: str
    weight: float


def main() -> None:
    if not (pages := sum(1 for _ in labelled.pages())):
        labelled.skipped()
        return
    section = fitted([*written(), *of_pages()])
    about = labelled.about("states", pages=pages)
    labelled.store(NOTICES, {"about": about, **section.model_dump(exclude={"about"})})


def written() -> Iterator[Row]:
    for line in WRITTEN.read_text("utf-8").splitlines()[1:]:
        state, _, texts = line.split(" ", 2)
        yield from (Row(State(state), text, 1.0) for text in texts.split(" / "))


def of_pages() -> Iterator[Row]:
    reader = shipped_rules(ScorePageRules).pages
    draw, seen = random.Random(7), set[str]()
    for folder, case in labelled.pages():
        facts = reader.read(labelled.body(folder, case), None, labelled.address(case))
        if not isinstance(facts, PageFacts) or not facts.state.is_content:
            continue
        lines = [line for line in facts.text.split("\n") if line]
        lines = draw.sample(lines, min(MOST_LINES, len(lines)))
        parts = [line[begin:end] for line in lines for begin, end in list(sentence_bounds(line))[:2]]
        for text in {*facts.titles, *parts} - seen:
            seen.add(text)
            yield Row(State.CONTENT, text[:LONGEST], OF_PAGES)


def fitted(rows: Sequence[Row]) -> NoticesSection:
    """A multinomial regression with a penalty on the squares of the weights, relative to lines that say nothing."""
    found = [features_of(row.text) for row in rows]
    often = Counter(name for row, names in zip(rows, found, strict=True) if row.weight == 1 for name in names)
    number = {name: place for place, name in enumerate(often)}
    places = [[number[name] for name in names if name in number] for names in found]
    ends = np.cumsum([0, *map(len, places)])
    flat = np.array([place for row in places for place in row], dtype=np.int64)
    table = csr_matrix((np.ones(len(flat)), flat, ends), shape=(len(rows), len(number)))
    turned, kinds = table.T.tocsr(), len(STATES)
    wanted = np.zeros((len(rows), kinds))
    wanted[np.arange(len(rows)), [STATES.index(row.state) for row in rows]] = 1
    weight = np.array([row.weight for row in rows])[:, None]

    def loss(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        matrix = point.reshape(len(number) + 1, kinds)
        scores = table @ matrix[:-1] + matrix[-1]
        scores -= scores.max(axis=1, keepdims=True)
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        slope = weight * (np.exp(logs) - wanted)
        value = -float((weight * wanted * logs).sum()) + PENALTY / 2 * float((matrix[:-1] ** 2).sum())
        return value, np.concatenate([turned @ slope + PENALTY * matrix[:-1], slope.sum(axis=0)[None]]).ravel()

    size = (len(number) + 1) * kinds
    found_at: Any = minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    matrix = found_at.x.reshape(len(number) + 1, kinds)
    tenths = np.clip(np.round(10 * (matrix[:, 1:] - matrix[:, :1])), -_MOST, _MOST).astype(int)
    kept = {name: tenths[place] for name, place in sorted(number.items())}
    weights = {
        name: "".join(chr(ord("U") + value) for value in values)
        for name, values in kept.items()
        if np.abs(values).max() >= 10 * LEAST_WEIGHT
    }
    start = tuple(round(float(value), 1) for value in matrix[-1, 1:] - matrix[-1, 0])
    return NoticesSection(start=start, weights=weights)


if __name__ == "__main__":
    main()
