"""Trains trees that score the candidates of a page, such as its dates, and writes them.

Sites are distributed to folds. For measurements, trees that saw none of its sites answer each page.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from handlers.html import content
from handlers.html.links import host_of, registrable_domain
from handlers.trees.forest import Forest, Trees
from streams.training.config import GrowthSection
from tools import labelled
from tools.accuracy.contestants import ask_assay
from tools.accuracy.labels import SETS, LabelledPage
from tools.training.cases import FOLDS
from tools.training.trees import grow, write

ABOUT = (
    "Gradient-boosted trees over counts and distances of {what} on labelled public pages; no text or address of a page "
    "is kept. Grown by `python -m tools.training.{what}` on {sets}."
)
Measures = list[dict[str, float]]


def asked_of(page: LabelledPage, function: str, answer: Any = None) -> list[tuple[Any, ...]]:
    """What the reader of a page passes to a function of ``handlers.html.content``, which answers so."""
    with patch.object(content, function, return_value=answer) as asked:
        ask_assay(page.body(), page.url)
    return [call.args for call in asked.call_args_list]


@dataclass(frozen=True, slots=True)
class Page:
    """A labelled page with the measures of its candidates.

    Attributes:
        answer: What is chosen by the scores of the candidates.
        lessons: What trees learn from it: measures, whether each candidate is right, and a weight.
    """

    label: LabelledPage
    measures: Measures
    answer: Callable[[list[float]], Any]
    lessons: list[tuple[Measures, list[float], float]] = field(default_factory=list)

    @property
    def fold(self) -> int:
        """Pages of one site are in one fold."""
        site = registrable_domain(host_of(self.label.case.get("url") or "")) or self.label.id
        return labelled.fold(site, FOLDS)


@dataclass(frozen=True, slots=True)
class Task:
    """What is trained: how the pages of a set are read, and the parameters of the trees."""

    what: str
    read: Callable[[str], Iterable[Page]]
    growth: GrowthSection
    path: Path
    seeds: tuple[int, ...] = (1,)

    def by_site(self) -> dict[str, Any]:
        """What is chosen on each labelled page, by trees that saw none of its site."""
        known, found = self._known(), dict[str, Any]()
        for fold in range(FOLDS):
            forest = Forest(Trees.model_validate(self._grown([page for page in known if page.fold != fold])))
            asked = (page for page in known if page.fold == fold)
            found |= {page.label.place: page.answer([forest.scores(one)[0] for one in page.measures]) for page in asked}
        return found

    def run(self) -> None:
        if not (known := self._known()):
            labelled.skipped()
            return
        sets = ", ".join(dict.fromkeys(page.label.set for page in known))
        write(self.path, ABOUT.format(what=self.what, sets=sets), self._grown(known))

    def _known(self) -> list[Page]:
        return [page for name in SETS if labelled.has(name) for page in self.read(name)]

    def _grown(self, known: Sequence[Page]) -> dict[str, Any]:
        lessons = [lesson for page in known for lesson in page.lessons]
        rows = [row for measures, _, _ in lessons for row in measures]
        wanted = np.array([is_right for _, rights, _ in lessons for is_right in rights])
        weights = np.array([weight * len(rights) ** -0.5 for _, rights, weight in lessons for _ in rights])
        return grow(rows, wanted, weights / weights.mean(), self.growth, self.seeds)
