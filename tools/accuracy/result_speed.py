"""How long one result takes: from its text alone, with a page, and the trees alone. CPU time, the fastest of a few."""

from __future__ import annotations

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.trees.forest import Forest, Trees
from schemas.retrieval import RetrievalBatch, RetrievedContent
from tests.rules import shipped_rules
from tools.accuracy.goals import Goal
from tools.accuracy.speed import BAND, Spread, fastest
from tools.training.cases import Case, content

TEXT, BAND_PAGE, ANY_PAGE = "a text of 4,000 characters", "a page of 150 to 250 KB", "a page of any size"
_FULL_TEXT = 3900
_EVERY = 4
_GOALS = {TEXT: 1.0, BAND_PAGE: 10.0, "the trees for a text": 0.5, "the trees for a page": 0.5}


def run(cases: list[Case]) -> tuple[list[str], list[Goal]]:
    """A table of milliseconds, and the goals."""
    rules = shipped_rules(ClassifyResultsRules)
    times: dict[str, list[float]] = {}

    def time(what: str, result: RetrievedContent) -> None:
        batch = RetrievalBatch(batch_id="b", query="", retrieved_content=(result,))
        times.setdefault(what, []).append(fastest(lambda: classify_results(batch, rules)))

    for number, case in enumerate(case for case in cases if case.counts):
        page = content(case.set, case.source, with_html=True)
        size = len((page.html or "").encode("utf-8", "replace"))
        if BAND[0] <= size <= BAND[1]:
            time(BAND_PAGE, page)
        if number % _EVERY == 0:
            time(ANY_PAGE, page)
            if len(page.content) >= _FULL_TEXT:
                time(TEXT, page.model_copy(update={"html": None}))
            for mode, trees in (("text", rules.result_trees.text), ("page", rules.result_trees.page)):
                if trees is not None:
                    times.setdefault(f"the trees for a {mode}", []).append(_ask(trees, case.measures[mode]))
    spreads = {what: Spread.of(milliseconds) for what, milliseconds in times.items()}
    lines = ["", "| ms of CPU a result | results | p50 | p95 | max |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {what} | {spread.pages} | {spread.p50:.2f} | {spread.p95:.2f} | {spread.most:.2f} |"
        for what, spread in spreads.items()
    ]
    goals = [
        Goal(f"{what}: {most:g} ms p95", f"{spreads[what].p95:.2f} ms", spreads[what].p95 <= most)
        for what, most in _GOALS.items()
        if what in spreads
    ]
    return [*lines, ""], goals


def _ask(trees: Trees, measures: dict[str, float]) -> float:
    forest = Forest(trees)
    return fastest(lambda: forest.scores(measures))
