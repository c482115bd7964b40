"""The training data of the trees for result types: measures of labelled pages of public sets.

Sets with a label of the three types count in the evaluation. The others only help in training, with little weight: news
articles and product pages are single things on any site, and pages with links to further pages are mostly listings.

Only unseen sites show how good trees are: sites are distributed to folds, and trees that saw none of its sites answer
each fold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from handlers.classify_results import ClassifyResultsRules
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.links import host_of, registrable_domain
from handlers.results.classifier import TYPES
from schemas.retrieval import ResultType, RetrievedContent
from streams.training.config import GrowthSection
from tests.rules import shipped_rules
from tools import labelled
from tools.training.trees import FOLDS, Whole, grow
from tools.training.variations import shorts

EVALUATED = ("wcxb_page_types", "formasaurus_navigation", "zh_list_detail", "magic_html_article_forum")
HELPING = {
    "adbar_dates_authors": (ResultType.SPECIFIC_CONTENT, 0.1),
    "fundus_news_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "readability_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "postlight_metadata": (ResultType.SPECIFIC_CONTENT, 0.1),
    "zyte_products": (ResultType.SPECIFIC_CONTENT, 0.2),
    "autopager_pagination": (ResultType.AGGREGATOR, 0.3),
}
"""Label and weight of every page of a set; of the last one, where links to further pages are annotated."""
DOUBTFUL = 0.4
"""Weight of a page whose set does not guarantee its label."""
TEXT_CHARACTERS = 4000


MODES = ("page", "text")
SHORT_WEIGHTS = (0.4, 0.25, 0.05)
"""Weight of all short texts of a type, where all whole texts together have 1: most of them are of items."""
TYPE_WEIGHTS = {"page": (1.0, 1.0, 1.0), "text": (1.0, 1.55, 1.2)}
"""Listings and navigation are rarer in the sets than in searches."""
SEEDS = {"page": (1, 2, 3, 4, 5, 6), "text": (1, 3, 4, 16)}
GROWTH = {
    "page": GrowthSection(trees=120, depth=3, rate=0.16, rows=0.6, columns=0.25, leaf_weight=1.2, penalty=6.0),
    "text": GrowthSection(trees=160, depth=3, rate=0.2, rows=0.6, columns=0.3, leaf_weight=1.2, penalty=6.0),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled page.

    Attributes:
        site: Cases of one site are not both trained and evaluated on.
        label: Its place in ``TYPES``.
        weight: How much it counts in growing.
        also: Another type that is not a mistake: a front page may list as well as lead on. None for most.
        counts: Whether it counts in the evaluation.
        measures: As for a result with its page (``page``) and for its text alone (``text``).
        shorts: Label and measures of what a search engine might show of it, and of variations; to grow from.
    """

    set: str
    id: str
    site: str
    label: int
    weight: float
    also: int | None
    counts: bool
    source: Mapping[str, Any]
    measures: dict[str, dict[str, float]]
    shorts: tuple[tuple[int, dict[str, float]], ...] = ()

    def is_seen(self, mode: str) -> bool:
        """Whether the case can be used in training: a page without visible text is left out."""
        return mode == "text" or len(self.measures[mode]) > len(self.measures["text"])


def read_cases() -> Iterator[Case]:
    rules = shipped_rules(ClassifyResultsRules)
    for name in (*EVALUATED, *HELPING):
        for case in labelled.cases(name) if labelled.has(name) else ():
            label, weight, counts = _label(name, case)
            if label is not None and case.get("file"):
                yield _case(name, case, label, weight, counts, rules)


def content(name: str, case: Mapping[str, Any], with_html: bool) -> RetrievedContent:
    """A labelled page as a result; without an address if the set has no address."""
    body = labelled.body(name, case)
    page = page_bytes(body)
    tree = parse_bytes(page.utf8)
    title = tree.css_first("title")
    text = tree.body.text(separator=" ") if tree.body else ""
    return RetrievedContent(
        url=str(case.get("url") or "about:blank"),
        title=title.text() if title else None,
        content=" ".join(text.split())[:TEXT_CHARACTERS],
        html=body.decode(page.encoding, "replace") if with_html else None,
        content_kind="full",
    )


def description(html: str) -> str:
    """What a page says of itself, which search engines like to show; "" where it says nothing."""
    tree = parse_bytes(page_bytes(html).utf8)
    node = tree.css_first('meta[name=description][content],meta[property="og:description"][content]')
    return " ".join((node.attributes.get("content") or "").split())[:300] if node is not None else ""


def _label(name: str, case: dict[str, Any]) -> tuple[ResultType | None, float, bool]:
    if name in HELPING:
        label, weight = HELPING[name]
        is_known = case.get("has_pagination", True)
        return (label if is_known else None), weight, False
    given = case.get("suggested_label")
    is_sure = case.get("strict") is not False
    return (ResultType(given) if given else None), 1.0 if is_sure else DOUBTFUL, is_sure


def _case(
    name: str, case: dict[str, Any], label: ResultType, weight: float, counts: bool, rules: ClassifyResultsRules
) -> Case:
    measures, html = {}, ""
    for mode in ("page", "text"):
        result = content(name, case, with_html=mode == "page")
        html = html or result.html or ""
        measures[mode] = _measures(result, rules)
    made = shorts(result, html, description(html), label, Random(f"{name} {case['id']}"))
    site = str(case.get("split_key") or registrable_domain(host_of(str(case.get("url") or ""))) or case["id"])
    return Case(
        set=name,
        id=str(case["id"]),
        site=site,
        label=TYPES.index(label),
        weight=weight,
        also=TYPES.index(ResultType.AGGREGATOR) if case.get("kind") == "homepage" else None,
        counts=counts,
        source=case,
        measures=measures,
        shorts=tuple((TYPES.index(of), _measures(short, rules)) for of, short in made),
    )


def _measures(result: RetrievedContent, rules: ClassifyResultsRules) -> dict[str, float]:
    return {name: float(value) for name, value in rules.classifier.measures(result).items()}


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
