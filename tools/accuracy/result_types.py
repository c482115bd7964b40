"""Result types on labelled pages: the expected quality on unseen sites, and that of the shipped trees.

``by site`` is the whole classifier with trees that were trained without the page's site; ``in sample`` is the
shipped classifier on pages of its training, so it does not predict other pages. A front page that is classified as a
listing is right, since many are; it counts as labelled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping

from handlers.classify_results import ClassifyResultsRules
from handlers.results.classifier import TYPES
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules
from tools.table import markdown, share
from tools.training.by_site import held_out, section
from tools.training.cases import Case, content, description, read_cases
from tools.training.variations import SHORT_CHARACTERS

BY_SITE, IN_SAMPLE = "by site", "in sample"
TOGETHER = "together"
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

Matrix = Counter[tuple[ResultType, ResultType]]
Matrices = dict[tuple[str, str, str], Matrix]
"""Pairs of (label, answer) by what was given (page or text), by whom, and by set."""


def run() -> list[str]:
    """Tables, over the sets that are here."""
    cases = list(read_cases())
    if not cases:
        return []
    matrices = measure(cases)
    lines = ["### Result types\n"]
    for given in (PAGE, TEXT):
        lines.append(_table(f"{given}, together", [(who, matrices[given, who, TOGETHER]) for who in _WHO]))
        groups = [group for what, who, group in matrices if what == given and who == BY_SITE and group != TOGETHER]
        lines.append(_table(f"{given}, by site", [(group, matrices[given, BY_SITE, group]) for group in groups]))
    worse = [(given, matrices[given, BY_SITE, TOGETHER]) for given in (*_MADE_WORSE, _DESCRIPTION, _BEGINNING)]
    return [*lines, _table("less than that, by site", worse)]


def measure(cases: list[Case]) -> Matrices:
    """Everybody's answers to every case that counts."""
    in_sample = shipped_rules(ClassifyResultsRules).classifier
    matrices: Matrices = defaultdict(Counter)
    for asked, known in held_out(cases):
        grown = section([cases[number] for number in known])
        by_site = shipped_rules(ClassifyResultsRules, result_trees=grown).classifier
        everybody: dict[str, Callable[[RetrievedContent], ResultType]] = {
            BY_SITE: lambda result, asked=by_site: asked.classify(result).result_type,  # type: ignore[misc]
            IN_SAMPLE: lambda result: in_sample.classify(result).result_type,
        }
        for case in (cases[number] for number in asked):
            results = {given: content(case.set, case.source, with_html=given == PAGE) for given in (PAGE, TEXT)}
            for given, result in results.items():
                for who, classify in everybody.items():
                    _count(matrices, (given, who), case, classify(result))
            results |= {given: results[of].model_copy(update=less) for given, (of, less) in _MADE_WORSE.items()}
            cut = results[TEXT].content[:SHORT_CHARACTERS]
            results[_BEGINNING] = results[TEXT].model_copy(update={"content": cut, "content_kind": "snippet"})
            if described := description(results[PAGE].html or ""):
                results[_DESCRIPTION] = results[_BEGINNING].model_copy(update={"content": described})
            for given in results.keys() - {PAGE, TEXT}:
                _count(matrices, (given, BY_SITE), case, everybody[BY_SITE](results[given]))
    return matrices


_WHO = (BY_SITE, IN_SAMPLE)


def macro_f1(matrix: Matrix) -> float:
    """The mean F1 of the types that occur as a label."""
    scores = [2 * right / (labelled + answered) for labelled, answered, right in _counts(matrix) if labelled]
    return sum(scores) / len(scores) if scores else 0.0


def _count(matrices: Matrices, what: tuple[str, str], case: Case, answer: ResultType) -> None:
    label = TYPES[case.label]
    if case.also is not None and answer is TYPES[case.also]:
        answer = label
    for group in (case.set, TOGETHER):
        matrices[*what, group][label, answer] += 1


def _counts(matrix: Matrix) -> list[tuple[int, int, int]]:
    """For each type how many are labelled so, how many are answered so, and how many are both."""
    return [
        (
            sum(matrix[kind, answer] for answer in TYPES),
            sum(matrix[label, kind] for label in TYPES),
            matrix[kind, kind],
        )
        for kind in TYPES
    ]


def _table(title: str, rows: list[tuple[str, Matrix]]) -> str:
    """Macro-F1, and recall / precision of each type."""
    cells = [
        [
            name,
            matrix.total(),
            f"{macro_f1(matrix):.3f}",
            *(f"{share(right, labelled)} / {share(right, answered)}" for labelled, answered, right in _counts(matrix)),
        ]
        for name, matrix in rows
    ]
    return markdown("", [title, "cases", "macro-F1", *TYPES], cells)
