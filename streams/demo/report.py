"""Prints the most interesting decisions of the demonstration, each with its reasons."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from handlers.results.batch import Dimensions
from schemas.dead import DeadLetter
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import SnippetsCompleted
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.demo.screen import TIER_STYLE, TYPE_STYLE
from streams.demo.tally import Tally

LABEL_STYLE = {"HIGH": "bold green", "MEDIUM": "bold yellow", "LOW": "bold red"}
_REASONS = 3
"""The reasons of a result that are shown."""
_SHORT = {
    "contextRecall": "recall",
    "contextPrecision": "precision",
    "sourceQuality": "quality",
    "actionableInformation": "actionable",
}


def tell_decisions(console: Console, tally: Tally, least: Dimensions) -> None:
    """Prints a section for each question that Assay answers; ``least`` has the thresholds of a batch."""
    pages = sorted(tally.pages.values(), key=lambda page: -(page.cts_score or 0))
    _section(console, "How far can a page be trusted?")
    for page in [*pages[:1], *[p for p in pages[1:] if p.tier == "B"][:1], *pages[-1:]]:
        tell_page(console, page)
    roots = sorted((b for b in tally.classified.values() if b.parent_batch_id is None), key=lambda b: b.batch_id)
    _section(console, "Do the results answer the question, or are they only listings?")
    for batch in roots:
        _tell_batch(console, tally, least, batch)
    _section(console, f"Is the search done?  {_judges(tally)}")
    for batch in roots:
        if (search := tally.searches.get(batch.batch_id)) is not None:
            _tell_search(console, search)
    _section(console, f"Which source answers, and what does it say?  {_judges(tally)}")
    for done in tally.snippets.values():
        _tell_sources(console, done)
    _section(console, f"Is the claim clear without its context?  {_judges(tally)}")
    for claim_id in tally.claims_evaluated:
        _tell_claim(console, tally, claim_id)
    _section(console, f"What does the index say, and how far can it be trusted?  {_judges(tally)}")
    for answer in tally.queries.values():
        _tell_query(console, answer)
    _section(console, "What could not be used?")
    for letter in tally.dead:
        _tell_dead(console, letter)
    console.print()


def _judges(tally: Tally) -> str:
    return "asked of a model" if tally.judges["model"] else "answered by the offline judge: rules, no model"


def _section(console: Console, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


def _line(console: Console, indent: int, line: str | Text, style: str = "") -> None:
    """Prints an indented paragraph."""
    console.print(Padding(line if isinstance(line, Text) else Text(line, style=style), (0, 0, 0, indent), expand=False))


def _address(console: Console, indent: int, head: str | Text, url: str, style: str = "dim") -> None:
    """Prints an address on its own line, shortened if it is too long."""
    line = Text.assemble(head, (url, style))
    line.truncate(max(console.width - indent, 20), overflow="ellipsis")
    _line(console, indent, line)


def tell_page(console: Console, page: ScoredPage) -> None:
    """Prints a page's tier, score and label, and the points of each component."""
    score = "   –" if page.cts_score is None else f"{page.cts_score:4}"
    console.print()
    _line(
        console,
        0,
        Text.assemble(
            (f"tier {page.tier}", f"bold {TIER_STYLE[page.tier]}"),
            (score, "bold"),
            f" {page.trust_label}  {page.title or page.url}",
        ),
    )
    _address(console, 2, "", page.url)
    for component in page.cts_breakdown:
        if component.points:
            _line(console, 2, f"{component.points:+4}  {component.component}: {component.reason}")
    missing = [component.component for component in page.cts_breakdown if not component.points]
    if missing:
        _line(console, 2, f"   0  {', '.join(missing)}", "dim")


def _tell_batch(console: Console, tally: Tally, least: Dimensions, batch: ResultsClassified) -> None:
    verdict = _verdict(tally.evaluated.get(batch.batch_id), least)
    console.print()
    _line(console, 0, Text.assemble(("“", "dim"), (batch.query, "bold"), ("”  ", "dim"), verdict))
    for result in batch.results:
        kind = Text(result.result_type.value.lower().replace("_", " "), style=TYPE_STYLE[result.result_type])
        _address(console, 2, Text.assemble(kind, f" {result.actionable_score:.2f}  "), result.url, "")
        _line(console, 4, f"because {'; '.join(result.reasons[:_REASONS])}", "dim")
    if batch.extraction_reason:
        _line(console, 2, batch.extraction_reason, "yellow")
    for done in tally.completed:
        if done.batch_id == batch.batch_id:
            _tell_extraction(console, done)
    for child in tally.children(batch.batch_id):
        change = f"attempt {child.attempt}: actionable information {batch.actionable_information:.2f} → "
        reached = (f"{child.actionable_information:.2f}", "bold green")
        _line(console, 2, Text.assemble(change, reached, ", ", _verdict(tally.evaluated.get(child.batch_id), least)))


def _verdict(verdict: RetrievalEvaluated | None, least: Dimensions) -> Text:
    if verdict is None:
        return Text("no verdict", style="red")
    if verdict.passed:
        return Text("passed", style="bold green")
    wanted = least.model_dump()
    short = ", ".join(
        f"{_SHORT[name]} {score:.2f} < {wanted[name]:g}"
        for name, score in verdict.scores.to_wire().items()
        if score < wanted[name]
    )
    return Text.assemble(("not passed", "bold red"), (f" ({short})" if short else "", "dim"))


def _tell_extraction(console: Console, done: ExtractionCompleted) -> None:
    asked = len(done.fetched) + len(done.skipped)
    _line(console, 2, f"fetched {len(done.fetched)} of {asked} pages behind it: {done.status.value}")
    for source in done.fetched:
        _address(console, 4, "+ ", source.title or source.url, "green")
    for skipped in done.skipped:
        _address(console, 4, f"- {skipped.reason.value}: ", skipped.url, "red")


def _tell_search(console: Console, search: SearchEvaluated) -> None:
    style = "bold green" if search.satisfied else "bold yellow"
    head = Text.assemble((f"{search.recommendation.value:8}", style), f" {search.quality_score:.2f}  “{search.query}”")
    _line(console, 0, head)
    if search.gaps:
        _line(console, 15, search.gaps, "dim")


def _tell_sources(console: Console, done: SnippetsCompleted) -> None:
    _line(console, 0, Text.assemble(("“", "dim"), (done.query, "bold"), ("”", "dim")))
    for source in done.sources:
        style = "bold green" if source.snippet else "bold yellow"
        why = f" ({source.failure.value})" if source.failure else ""
        _address(console, 2, Text.assemble((source.outcome.value.replace("_", " "), style), f"{why}  "), source.url, "")
        if source.snippet:
            _line(console, 4, source.snippet, "dim")


def _tell_claim(console: Console, tally: Tally, claim_id: str) -> None:
    verdict = tally.claims_evaluated[claim_id]
    score = "none" if verdict.decontextualization_score is None else f"{verdict.decontextualization_score:.2f}"
    why = verdict.exclusion.value.replace("_", " ") if verdict.exclusion else "may be promoted"
    claim = tally.claims.get(claim_id)
    style = "bold green" if verdict.promotable else "bold yellow"
    _line(console, 0, Text.assemble((f"{score} ", style), f"{verdict.band.value:9}{why}"))
    _line(console, 15, claim.claim_text if claim else claim_id, "dim")


def _tell_query(console: Console, answer: RankingCompleted) -> None:
    _line(
        console, 0, Text.assemble(("“", "dim"), (answer.query, "bold"), (f"”  {answer.intent.intent.lower()}", "dim"))
    )
    for result in answer.results:
        head = Text.assemble((f"{result.trust_label:6} ", LABEL_STYLE[result.trust_label]), f"{result.score:.2f}  ")
        _address(console, 2, head, result.title or result.url, "")
        _line(console, 4, f"because {'; '.join(result.reasons[:_REASONS])}", "dim")


def _tell_dead(console: Console, letter: DeadLetter) -> None:
    head = Text.assemble(("dead letter ", "bold red"), f"{letter.reason} in {letter.handler}: {letter.error}")
    _line(console, 0, head)
    _line(
        console, 2, f"{letter.topic}, partition {letter.partition}, offset {letter.offset}; its bytes are kept", "dim"
    )
