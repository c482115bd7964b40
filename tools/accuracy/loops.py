"""Extraction loops: is a batch of details judged better than the listing that it was extracted from?

``listing_to_detail_sites`` has listings and their detail pages. Each listing is the only result of a batch, as from a
search step: once with its page, once with the beginning of its text as a snippet. The handlers classify it, follow it
over the pages of the set, classify the fetched pages and evaluate both batches without a model. Queries are made from
the listing's heading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from handlers.fetch_page import FetchPageRules, fetch_page, read_pages
from handlers.html.encoding import parse_page
from handlers.html.links import canonical_url
from schemas.extraction import ExtractionNeeded
from schemas.needs import Ask, AskModel, FetchPages
from schemas.outcome import Emit, Outcome
from schemas.replies import FetchedPage, FetchFailure, FetchRefused, PagesReply
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated, RetrievedContent
from streams.llm.tasks import answer_offline
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.goals import Goal

SET = "listing_to_detail_sites"
QUERIES = ("{} books", "{} books price", "how much does a book on {} cost")
SNIPPET_CHARACTERS = 200
LEAST_BETTER = 0.95
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Loop:
    """One listing with one query: what was said of it, and of what stood behind it.

    Attributes:
        before: The verdict on the listing.
        after: The verdict on the extracted batch; None if nothing was fetched.
        fetched: Details that were fetched.
    """

    url: str
    query: str
    before: RetrievalEvaluated
    after: RetrievalEvaluated | None
    fetched: int


def run() -> tuple[list[str], list[Goal]]:
    """The table and the goals; nothing where the set is not here."""
    loops = list(measure()) if labelled.has(SET) else []
    if not loops:
        return [], []
    asked = [loop for loop in loops if loop.before.needs_extraction]
    known = [(loop.before, loop.after) for loop in asked if loop.after is not None]
    better = sum(after.overall_score > before.overall_score for before, after in known)
    passed = sum(after.passed for _, after in known)
    lines = ["", "### Extraction loops", ""]
    passed_before = sum(before.passed for before, _ in known)
    lines.append(
        f"{len(loops)} batches have one listing each and at least one of its details in the set; {len(asked)} of"
    )
    lines.append(
        f"them ask for its extraction, and {len(known)} get details. The overall score rises in {better} of these;"
    )
    lines.append(f"the batch of details passes in {passed}, the listing in {passed_before}. Means:")
    lines += ["", "| | overall | recall | precision | actionable |", "|---|---:|---:|---:|---:|"]
    for name, verdicts in (("listing", [pair[0] for pair in known]), ("details", [pair[1] for pair in known])):
        lines.append(f"| {name} | {' | '.join(f'{value:.2f}' for value in _means(verdicts))} |")
    share = better / max(1, len(known))
    what = f"extraction loops: the overall score rises in {LEAST_BETTER:g}"
    return lines, [Goal(what, f"{better} of {len(known)}", share >= LEAST_BETTER)]


def measure() -> Iterator[Loop]:
    """Every listing with a detail in the set, as a page and as a snippet, with every query."""
    pages = {canonical_url(case["url"]): case for case in labelled.cases(SET)}
    for case in pages.values():
        if not any(canonical_url(url) in pages for url in case.get("detail_urls", ())):
            continue
        html = labelled.body(SET, case).decode("utf-8", "replace")
        tree = parse_page(html).tree
        heading, title = tree.css_first("h1"), tree.css_first("title")
        subject = heading.text().strip() if heading else ""
        text = " ".join(tree.body.text(separator=" ").split())[:SNIPPET_CHARACTERS] if tree.body else ""
        known = RetrievedContent(url=case["url"], title=title.text().strip() if title else None)
        for content in (known.model_copy(update={"html": html}), known.model_copy(update={"content": text})):
            for query in QUERIES:
                yield _loop(query.format(subject.lower()), content, pages)


def _loop(query: str, content: RetrievedContent, pages: dict[str | None, dict[str, Any]]) -> Loop:
    batch = RetrievalBatch(batch_id="listing", query=query, retrieved_content=(content,))
    before, needed = _judged(batch)
    after = None
    fetched = 0
    for extraction in needed:
        for child in _followed(extraction, pages):
            after, _ = _judged(child)
            fetched += len(child.retrieved_content)
    return Loop(content.url, query, before, after, fetched)


def _judged(batch: RetrievalBatch) -> tuple[RetrievalEvaluated, list[ExtractionNeeded]]:
    classified, *needed = _events(classify_results(batch, shipped_rules(ClassifyResultsRules)))
    assert isinstance(classified, ResultsClassified)
    rules = shipped_rules(EvaluateRetrievalRules)
    answered = evaluate_retrieval(classified, rules)
    if isinstance(answered, Ask):
        assert isinstance(answered.need, AskModel)
        answered = read_retrieval(classified, (answer_offline(answered.need),), rules)
    (evaluated,) = _events(answered)
    assert isinstance(evaluated, RetrievalEvaluated)
    return evaluated, [event for event in needed if isinstance(event, ExtractionNeeded)]


def _followed(extraction: ExtractionNeeded, pages: dict[str | None, dict[str, Any]]) -> list[RetrievalBatch]:
    """The batches of an extraction, over the pages of the set; any other page is not found."""
    rules = shipped_rules(FetchPageRules)
    step = fetch_page(extraction, rules)
    replies: list[PagesReply] = []
    while isinstance(step, Ask):
        assert isinstance(step.need, FetchPages)
        replies.append(PagesReply(tuple(_fetched(url, pages) for url in step.need.urls)))
        step = read_pages(extraction, tuple(replies), rules)
    return [event for event in _events(step) if isinstance(event, RetrievalBatch)]


def _fetched(url: str, pages: dict[str | None, dict[str, Any]]) -> FetchedPage | FetchRefused:
    case = pages.get(canonical_url(url))
    if case is None:
        return FetchRefused(url, FetchFailure.CLIENT_ERROR)
    return FetchedPage(url, url, 200, "text/html; charset=utf-8", labelled.body(SET, case), NOW)


def _events(outcome: Outcome | Ask) -> tuple[Any, ...]:
    assert isinstance(outcome, Emit)
    return tuple(outcome.events)


def _means(verdicts: list[RetrievalEvaluated]) -> list[float]:
    rows = [
        (
            verdict.overall_score,
            verdict.scores.context_recall,
            verdict.scores.context_precision,
            verdict.scores.actionable_information,
        )
        for verdict in verdicts
    ]
    return [sum(column) / max(1, len(rows)) for column in zip(*rows, strict=True)]
