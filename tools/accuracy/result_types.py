"""Result types on labelled pages: the expected quality on unseen sites, and that of the shipped trees.

``by site`` is the whole classifier with trees that were trained without the page's site; ``in sample`` is the
shipped classifier on pages of its training, so it does not predict other pages. A front page that is classified as a
listing is right, since many are; it counts as labelled.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from handlers.classify_results import ClassifyResultsRules
from handlers.results.classifier import TYPES
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules
from tools.accuracy.measure import TOGETHER, Measure, Measures, Setup
from tools.table import share
from tools.training.cases import Case, content, description, held_out, read_cases, section
from tools.training.variations import SHORT_CHARACTERS

BY_SITE, IN_SAMPLE = "by site", "in sample"
PAGE, TEXT = "page", "text only"
_MADE_WORSE: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "page, no address": (PAGE, {"url": ""}),
    "page, no title": (PAGE, {"title": None}),
    "page, no text beside it": (PAGE, {"content": ""}),
    "text only, no address": (TEXT, {"url": ""}),
    "text only, no title": (TEXT, {"title": None}),
}
_BEGINNING = f"{SHORT_CHARACTERS} characters of text"
_DESCRIPTION = "the page's description"
Answers = dict[str, ResultType]
"""By what was given, and by whom: the shipped trees, or those of other sites."""


async def measures(_: Setup) -> Measures:
    answered = _answered()
    sets: dict[str, list[Any]] = {}
    for case, answers in answered:
        sets.setdefault(case.set, []).append((case, answers))
    title = "### Result types"
    for given in (PAGE, TEXT) if answered else ():
        both = {who: f"{given}, {who}" for who in (BY_SITE, IN_SAMPLE)}
        yield _measure(title, {TOGETHER: answered}, both, by=f"{given}, together")
        yield _measure("", sets, {"": both[BY_SITE]}, group=(f"{given}, by site",))
        title = ""
    if answered:
        worse = {name: f"{name}, {BY_SITE}" for name in (*_MADE_WORSE, _DESCRIPTION, _BEGINNING)}
        yield _measure("", {TOGETHER: answered}, worse, by="less than that, by site")


@cache
def _answered() -> list[tuple[Case, Answers]]:
    """Every case that counts, with the answers of the shipped classifier and of one that saw no page of its site."""
    cases = list(read_cases())
    in_sample = shipped_rules(ClassifyResultsRules).classifier
    answered: list[tuple[Case, Answers]] = []
    for asked, known in held_out(cases) if cases else ():
        grown = section([cases[number] for number in known])
        by_site = shipped_rules(ClassifyResultsRules, result_trees=grown).classifier
        for case in (cases[number] for number in asked):
            given = _given(case)
            answers = {f"{name}, {BY_SITE}": by_site.classify(result).result_type for name, result in given.items()}
            answers |= {f"{name}, {IN_SAMPLE}": in_sample.classify(given[name]).result_type for name in (PAGE, TEXT)}
            answered.append((case, answers))
    return answered


def _given(case: Case) -> dict[str, RetrievedContent]:
    given = {name: content(case.set, case.source, with_html=name == PAGE) for name in (PAGE, TEXT)}
    html = given[PAGE].html or ""
    given |= {name: given[of].model_copy(update=dict(less)) for name, (of, less) in _MADE_WORSE.items()}
    cut = {"content": given[TEXT].content[:SHORT_CHARACTERS], "content_kind": "snippet"}
    given[_BEGINNING] = given[TEXT].model_copy(update=cut)
    if described := description(html):
        given[_DESCRIPTION] = given[_BEGINNING].model_copy(update={"content": described})
    return given


def _measure(
    title: str, cases: Mapping[str, Any], asked: Mapping[str, str], by: str = "", group: tuple[str, ...] = ()
) -> Measure:
    def ask(name: str) -> Callable[[Any], ResultType | None]:
        return lambda case: case[1].get(name)

    def match(row: str, case: Any, answer: ResultType) -> Iterable[tuple[str, tuple[ResultType, ResultType]]]:
        label, also = TYPES[case[0].label], case[0].also
        return [(row, (label, label if also is not None and answer is TYPES[also] else answer))]

    return Measure(
        name=title, cases=cases, contestants={who: ask(name) for who, name in asked.items()}, match=match,
        figures=_figures, heads=("cases", "macro-F1", *TYPES), group=group, by=by,
    )  # fmt: skip


def _figures(pairs: list[tuple[ResultType, ResultType]], _: int) -> list[object]:
    """How many, macro-F1 over the types that are labelled, and recall / precision of each type."""
    labels, answers = (Counter(kinds) for kinds in zip(*pairs, strict=True))
    right = Counter(label for label, answer in pairs if label is answer)
    f1 = [2 * right[kind] / (labels[kind] + answers[kind]) for kind in TYPES if labels[kind]]
    cells = [f"{share(right[kind], labels[kind])} / {share(right[kind], answers[kind])}" for kind in TYPES]
    return [len(pairs), f"{sum(f1) / len(f1):.3f}", *cells]
