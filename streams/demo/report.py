"""Prints the most interesting decisions of the demonstration, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterable

from rich.padding import Padding
from rich.text import Text

from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.demo.tally import Tally
from streams.views.screen import Screen
from streams.views.words import reasons_of, verdict_of

TIER_STYLE = {"A": "green", "B": "yellow", "C": "red"}
TYPE_STYLE = {"SPECIFIC_CONTENT": "green", "AGGREGATOR": "yellow", "NAVIGATION": "blue"}
_LABEL_STYLE = {"HIGH": "bold green", "MEDIUM": "bold yellow", "LOW": "bold red"}
_GOOD, _MIXED, _BAD = "bold green", "bold yellow", "bold red"
_REASONS = 3
"""The reasons of a result that are shown."""


def tell_decisions(console: Screen, tally: Tally) -> None:
    """Prints a section for each question that Assay answers."""
    judge = "  asked of a model" if tally.asked_models else "  answered by the offline judge: rules, no model"
    pages = sorted(tally.latest(ScoredPage).values(), key=lambda page: -(page.cts_score or 0))
    _section(console, "How far can a page be trusted?")
    for page in [*pages[:1], *[p for p in pages[1:] if p.tier == "B"][:1], *pages[-1:]]:
        _tell(console, page.title or page.url, page, reasons_of(page), good=page.tier == "A")
    batches = tally.latest(ResultsClassified).values()
    roots = sorted((batch for batch in batches if batch.parent_batch_id is None), key=lambda batch: batch.batch_id)
    _section(console, "Do the results answer the question, or are they only listings?")
    for batch in roots:
        _tell_batch(console, tally, batch)
    _section(console, f"Is the search done?{judge}")
    searches = tally.latest(SearchEvaluated)
    for search in (searches[batch.batch_id] for batch in roots if batch.batch_id in searches):
        _tell(console, search.query, search, reasons_of(search), good=search.satisfied)
    _section(console, f"Which source answers, and what does it say?{judge}")
    for done in tally.latest(SnippetsCompleted).values():
        snippets = (f"{source.url}: {source.snippet}" for source in done.sources if source.snippet)
        _tell(console, done.query, done, [*reasons_of(done), *snippets], good=not done.failure)
    _section(console, f"Is the claim clear without its context?{judge}")
    claims = tally.latest(ExtractedClaim)
    for claim_id, verdict in tally.latest(ClaimEvaluated).items():
        text = claims[claim_id].claim_text if claim_id in claims else claim_id
        _tell(console, text, verdict, reasons_of(verdict), good=verdict.promotable)
    _section(console, f"What does the index say, and how far can it be trusted?{judge}")
    for answer in tally.latest(RankingCompleted).values():
        _tell_query(console, answer)
    _section(console, "What could not be used?")
    for letter in tally.dead:
        _line(console, 0, ("dead letter ", _BAD), f"{letter.reason} in {letter.handler}: {letter.error}")
        place = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}"
        _line(console, 2, (f"{place}; its bytes are kept", "dim"))
    console.print()


def _section(console: Screen, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


Part = str | Text | tuple[str, str]


def _line(console: Screen, indent: int, *parts: Part) -> None:
    """Prints an indented paragraph."""
    console.print(Padding(Text.assemble(*parts), (0, 0, 0, indent), expand=False))


def _address(console: Screen, indent: int, *parts: Part) -> None:
    """Prints an address, and what is before it, on one line, shortened if it is too long."""
    line = Text.assemble(*parts)
    line.truncate(max(console.width - indent, 20), overflow="ellipsis")
    _line(console, indent, line)


def _because(console: Screen, reasons: Iterable[str]) -> None:
    _line(console, 4, (f"because {'; '.join(list(reasons)[:_REASONS])}", "dim"))


def _tell(console: Screen, subject: str, decision: Event, reasons: Iterable[str], *, good: bool) -> None:
    """Prints a decision about a text as ``assay why`` does: the verdict, then the reasons."""
    _line(console, 0, ("“", "dim"), (subject, "bold"), ("”", "dim"))
    _line(console, 2, (verdict_of(decision), _GOOD if good else _MIXED))
    for reason in reasons:
        _line(console, 4, (reason, "dim"))


def _tell_batch(console: Screen, tally: Tally, batch: ResultsClassified) -> None:
    console.print()
    _line(console, 0, ("“", "dim"), (batch.query, "bold"), ("”  ", "dim"), _verdict(tally, batch))
    for result in batch.results:
        kind = result.result_type.value
        kind_text = (kind.lower().replace("_", " "), TYPE_STYLE[kind])
        _address(console, 2, kind_text, f" {result.actionable_score:.2f}  ", result.url)
        _because(console, result.reasons)
    if batch.extraction_reason:
        _line(console, 2, (batch.extraction_reason, "yellow"))
    for done in tally.all(ExtractionCompleted):
        if done.batch_id == batch.batch_id:
            _line(console, 2, verdict_of(done))
            for source in done.fetched:
                _address(console, 4, "+ ", (source.title or source.url, "green"))
            for skipped in reasons_of(done):
                _address(console, 4, "- ", (skipped, "red"))
    for child in tally.latest(ResultsClassified).values():
        if child.parent_batch_id == batch.batch_id:
            change = f"actionable information {batch.actionable_information:.2f} → "
            _line(console, 2, change, (f"{child.actionable_information:.2f}", _GOOD), "; ", _verdict(tally, child))


def _verdict(tally: Tally, batch: ResultsClassified) -> Text:
    verdict = tally.latest(RetrievalEvaluated).get(batch.batch_id)
    if verdict is None:
        return Text("no verdict", style="red")
    return Text(verdict_of(verdict), style=_GOOD if verdict.passed else _BAD)


def _tell_query(console: Screen, answer: RankingCompleted) -> None:
    _line(console, 0, ("“", "dim"), (answer.query, "bold"), (f"”  {answer.intent.intent.lower()}", "dim"))
    for result in answer.results:
        label = (f"{result.trust_label:6} ", _LABEL_STYLE[result.trust_label])
        _address(console, 2, label, f"{result.score:.2f}  ", result.title or result.url)
        _because(console, result.reasons)
