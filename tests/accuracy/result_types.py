"""Result types on labelled pages: confusion matrices, recall and precision, from whole pages and from their text."""

from __future__ import annotations

from collections import Counter

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.page.html import parse_page
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, ResultType, RetrievalBatch, RetrievedContent
from tests import labelled
from tests.rules import shipped_rules

SETS = ("wcxb_page_types", "formasaurus_navigation", "zh_list_detail", "magic_html_article_forum")
TEXT_CHARACTERS = 4000

Matrix = Counter[tuple[str, str]]


def run() -> list[str]:
    """The matrices of every set that is here, from whole pages and from their text alone, as lines of text."""
    present = [name for name in SETS if labelled.has(name)]
    lines: list[str] = []
    for with_html in (True, False):
        total: Matrix = Counter()
        for name in present:
            matrix = measure(name, with_html)
            total += matrix
            lines += report(f"{name}, {'page' if with_html else 'text only'}", matrix)
        lines += report(f"together, {'page' if with_html else 'text only'}", total)
    return lines


def measure(name: str, with_html: bool) -> Matrix:
    """Pairs of (label, answer) over the cases of a set that have a label."""
    rules = shipped_rules(ClassifyResultsRules)
    matrix: Matrix = Counter()
    for case in labelled.cases(name):
        label = case.get("suggested_label")
        if not label or not case.get("file") or case.get("strict") is False:
            continue
        body = labelled.body(name, case)
        page = parse_page(body)
        title = page.tree.css_first("title")
        text = page.tree.body.text(separator=" ") if page.tree.body else ""
        result = RetrievedContent(
            url=labelled.address(case),
            title=title.text() if title else None,
            content=" ".join(text.split())[:TEXT_CHARACTERS],
            html=body.decode(page.encoding, "replace") if with_html else None,
            content_kind="full",
        )
        batch = RetrievalBatch(batch_id="b", query="", retrieved_content=(result,))
        outcome = classify_results(batch, rules)
        if not isinstance(outcome, Emit) or not isinstance(outcome.events[0], ResultsClassified):
            raise SystemExit(f"{case['id']}: {outcome}")
        matrix[label, outcome.events[0].results[0].result_type] += 1
    return matrix


def report(title: str, matrix: Matrix) -> list[str]:
    """A confusion matrix with recall, precision and macro-F1 over the labels that occur."""
    lines = ["", f"{title}: {sum(matrix.values())} cases"]
    scores = []
    for label in ResultType:
        right = matrix[label, label]
        labelled_so = sum(matrix[label, answer] for answer in ResultType)
        answered_so = sum(matrix[other, label] for other in ResultType)
        row = "  ".join(f"{answer}={matrix[label, answer]}" for answer in ResultType)
        recall = right / labelled_so if labelled_so else 0.0
        precision = right / answered_so if answered_so else 0.0
        if labelled_so:
            scores.append(2 * right / (labelled_so + answered_so))
        lines.append(f"  {label:17} {row:60} recall {recall:.2f}  precision {precision:.2f}")
    lines.append(f"  macro-F1 {sum(scores) / len(scores) if scores else 0.0:.3f}")
    return lines
