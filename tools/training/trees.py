"""Grows trees with XGBoost, and writes them in the form that ``handlers.trees`` reads.

Measures are replaced by the number of their interval between quantiles, so every threshold of a tree lies between two
values that occur. XGBoost's own thresholds are values that occur; with them the content of pages is found worse.
One thread, one seed and rows in a fixed order: the same table gives the same trees.

A ``Task`` trains trees that score the candidates of a page, such as its dates. Sites are distributed to folds: for
measurements, trees that saw none of its sites answer each page.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import xgboost
from numpy.typing import NDArray

from handlers.html import content
from handlers.html.links import host_of, registrable_domain
from handlers.trees.forest import Forest, Trees
from streams.training.config import GrowthSection
from tools import labelled
from tools.accuracy.contestants import ask_assay
from tools.accuracy.labels import SETS, LabelledPage

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
FOLDS = 8
_QUANTILES = 32
_UNREACHABLE = 1e9
"""A threshold that no measure exceeds: where a tree has no node at this place."""


def write(path: Path, about: str, grown: dict[str, Any]) -> None:
    """Writes grown trees, one a line: a change of the trees is a change of lines."""
    section = {"about": about} | grown
    text = json.dumps(section, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text.replace('{"of"', '\n{"of"').replace('],"start"', '],\n"start"') + "\n", "utf-8")
    print(f"{path.name}: {path.stat().st_size} bytes")


def grow(
    rows: Sequence[Mapping[str, float]],
    wanted: Floats | Whole,
    weights: Floats,
    growth: GrowthSection,
    seeds: Sequence[int] = (1,),
) -> dict[str, Any]:
    """The section ``Trees``: the mean of the forests of some seeds.

    Args:
        rows: The measures of each case.
        wanted: The number of each row's class; or the shares of a yes, for one score in log-odds.
        weights: How much each row counts.
        growth: The parameters; XGBoost takes the curvature of several classes twice.
        seeds: Of the draws of rows and measures.
    """
    names = sorted({name for row in rows for name in row})
    table = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    is_share = wanted.dtype == np.float64
    classes = 1 if is_share else int(wanted.max()) + 1
    shares = [np.average(wanted if is_share else wanted == of, weights=weights) for of in range(classes)]
    start = np.log(np.array(shares) / (1 - shares[0] if is_share else 1)).round(4)
    cuts = [_cuts(column) for column in table.T]
    intervals = [np.searchsorted(cut, column) for cut, column in zip(cuts, table.T, strict=True)]
    data = xgboost.DMatrix(
        np.stack(intervals, axis=1), wanted, weight=weights, base_margin=np.tile(start, (len(table), 1)), nthread=1
    )
    objective = {"objective": "binary:logistic"} if is_share else {"objective": "multi:softprob", "num_class": classes}
    parameters: dict[str, Any] = objective | growth.parameters
    dumps = [
        (number % classes, json.loads(text))
        for seed in seeds
        for number, text in enumerate(
            xgboost.train(parameters | {"seed": seed}, data, growth.trees).get_dump(dump_format="json")
        )
    ]
    trees = [_exported(of, root, growth.depth, cuts, len(seeds)) for of, root in dumps]
    return {"measures": names, "start": start.tolist(), "trees": trees}


def _cuts(column: Floats) -> Floats:
    """Thresholds between the quantiles of a measure, with as many digits as are written."""
    values = np.unique(column)
    if len(values) > _QUANTILES:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _QUANTILES + 1), method="nearest"))
    return np.unique([_rounded(value) for value in (values[:-1] + values[1:]) / 2])


def _exported(of: int, root: dict[str, Any], depth: int, cuts: Sequence[Floats], forests: int) -> dict[str, Any]:
    """A tree, made complete: a leaf above the last level is the answer to every question below it."""
    measures, thresholds, level = [], [], [root]
    for _ in range(depth):
        for node in level:
            measure = int(node["split"][1:]) if "split" in node else 0
            measures.append(measure)
            is_leaf = "leaf" in node
            # Below the condition is the yes: a number of an interval, so the threshold is the cut before it.
            thresholds.append(_UNREACHABLE if is_leaf else float(cuts[measure][round(node["split_condition"]) - 1]))
        level = [child for node in level for child in node.get("children", (node, node))]
    leaves = [_rounded(node["leaf"] / forests) for node in level]
    return {"of": of, "measures": measures, "thresholds": thresholds, "leaves": leaves}


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")


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
        write(self.path, labelled.about("candidates", what=self.what, sets=sets), self._grown(known))

    def _known(self) -> list[Page]:
        return [page for name in SETS if labelled.has(name) for page in self.read(name)]

    def _grown(self, known: Sequence[Page]) -> dict[str, Any]:
        lessons = [lesson for page in known for lesson in page.lessons]
        rows = [row for measures, _, _ in lessons for row in measures]
        wanted = np.array([is_right for _, rights, _ in lessons for is_right in rights])
        weights = np.array([weight * len(rights) ** -0.5 for _, rights, weight in lessons for _ in rights])
        return grow(rows, wanted, weights / weights.mean(), self.growth, self.seeds)
