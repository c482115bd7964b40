"""What the functions of this package return: results with reasons, and refusals.

Each result has the events that a worker would write to Kafka for the same input, in ``event`` or beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from html import escape
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    # A score needs few of these modules, and their import takes a third of its time.
    from schemas.claims import ClaimEvaluated
    from schemas.extraction import ExtractionNeeded
    from schemas.outcome import Dead, Retry
    from schemas.pages import ScoredPage, SourceStanding, Tier, TrustLabel
    from schemas.ranking import RankedResult, RankingCompleted
    from schemas.relevance import RelevanceJudged, SnippetExtracted
    from schemas.retrieval import ClassifiedResult, NextStep, ResultsClassified, RetrievalEvaluated
    from schemas.states import State

NO_ADDRESS = "https://page.invalid/"
"""The address of a page that was given without one."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The input could not be decided; it is false in a condition.

    Attributes:
        kind: The reason that a dead letter would have, such as ``invalid``, ``too_large``, ``unreadable_page``,
            ``took_too_long``; ``unavailable`` or ``rate_limited`` for a model that does not answer.
        reasons: What is wrong, in words.
    """

    kind: str
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The kind and the reasons, ready for JSON."""
        return {"refused": self.kind, "reasons": list(self.reasons)}

    def __bool__(self) -> Literal[False]:
        """False: ``if result := assay.score(…)`` has a score."""
        return False

    @classmethod
    def of(cls, outcome: Dead | Retry) -> Refusal:
        """The refusal of an outcome without events."""
        return cls(str(outcome.reason), (outcome.detail,) if outcome.detail else ())


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """The main text of a page, and what is known of it."""

    event: ScoredPage

    @property
    def url(self) -> str:
        """The address; "" if none was given."""
        return "" if self.event.url == NO_ADDRESS else self.event.url

    @property
    def state(self) -> State:
        """``content``, or why the page has none, such as ``login``; then its score is 0."""
        return self.event.state

    @property
    def title(self) -> str:
        """The title; "" without one."""
        return self.event.title

    @property
    def date(self) -> date | datetime | None:
        """When it was published: a day or an instant, or None. It is never guessed."""
        return self.event.date

    @property
    def authors(self) -> tuple[str, ...]:
        """Persons, else the organisation that the page names as its author."""
        return self.event.authors

    @property
    def language(self) -> str | None:
        """The language, such as ``en``; None if it is unknown."""
        return self.event.language

    @property
    def content(self) -> str:
        """The main text."""
        return self.event.content

    @property
    def markdown(self) -> str:
        """The main text below its title, as Markdown: headings, lists, tables and code."""
        from handlers.html.markdown import render_markdown

        return render_markdown(self.event.content, self.event.blocks, self.event.title, self.event.entries)

    @property
    def summary(self) -> str:
        """The description of the page, or its first sentences."""
        return self.event.summary

    def to_dict(self) -> dict[str, Any]:
        """What is known of the page, ready for JSON."""
        fields = ("state", "title", "date", "authors", "language", "summary", "content")
        wire = self.event.to_wire()
        return {"url": self.url} | {name: wire[name] for name in fields} | {"markdown": self.markdown}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def _shown(self) -> Iterator[str]:
        if self.state != "content":
            yield self.state
        yield repr(shorten(self.title, 60, placeholder=" …"))
        if self.date is not None:
            yield str(self.date)[:10]
        yield from self.authors[:2]


@dataclass(frozen=True, slots=True, repr=False)
class Score(Page):
    """How far a page can be trusted, and its main text."""

    @property
    def cts_score(self) -> int | None:
        """The content trust score, 0 to 100; None for an extracted text without quality metadata."""
        return self.event.cts_score

    @property
    def tier(self) -> Tier:
        """How deep the page would be indexed: A, B or C."""
        return self.event.tier

    @property
    def trust_label(self) -> TrustLabel:
        """The label that a language model is shown: HIGH, MEDIUM or LOW."""
        return self.event.trust_label

    @property
    def source(self) -> SourceStanding | None:
        """Whether a list has the page's source, none has, or a public list contests it."""
        return self.event.source

    @property
    def parts(self) -> str:
        """The two parts of the score, each of what it can be: ``source 25/40 (listed), support 32/60``."""
        return self.event.parts

    @property
    def reasons(self) -> tuple[str, ...]:
        """The points of the score, each with what it was given for."""
        return self.event.reasons

    def to_dict(self) -> dict[str, Any]:
        """The decision and what is known of the page, ready for JSON."""
        return {"url": self.url} | self.event.decision() | super(Score, self).to_dict()

    def _shown(self) -> Iterator[str]:
        yield f"{'-' if self.cts_score is None else self.cts_score} {self.trust_label}"
        yield from super(Score, self)._shown()

    def _repr_html_(self) -> str:
        """The points as a table, for notebooks."""
        rows = "".join(f"<tr><td>{line.points:+d}<td>{escape(line.reason)}" for line in self.event.cts_breakdown)
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"


@dataclass(frozen=True, slots=True, repr=False)
class Classification:
    """Which results are the content itself, and which are only listings or navigation.

    Attributes:
        extractions: The requests for the detail pages behind listings, as ``fetch_page`` takes them.
    """

    event: ResultsClassified
    extractions: tuple[ExtractionNeeded, ...]

    @property
    def results(self) -> tuple[ClassifiedResult, ...]:
        """Each distinct result with ``result_type``, ``actionable_score``, ``evidence`` and ``reasons``."""
        return self.event.results

    @property
    def needs_extraction(self) -> bool:
        """Whether the detail pages behind listings should be fetched."""
        return self.event.needs_extraction

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why detail pages should be fetched, or else how many results are of each type."""
        if self.event.extraction_reason is not None:
            return (self.event.extraction_reason,)
        counts = self.event.counts
        return (
            f"{counts.specific_content} detail pages, {counts.aggregator} listings, {counts.navigation} navigation",
        )

    def __repr__(self) -> str:
        return f"Classification({'; '.join(self.reasons)})"


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """Whether results answer their query, in four dimensions.

    Attributes:
        reasons: Each dimension with its threshold.
    """

    event: RetrievalEvaluated
    classification: Classification
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every dimension reaches its threshold."""
        return self.event.passed

    @property
    def overall_score(self) -> float:
        """The weighted mean of the dimensions."""
        return self.event.overall_score

    @property
    def next_step(self) -> NextStep:
        """What to do: answer, answer from the detail pages only, wait for extractions, or search again."""
        return self.event.next_step

    def __repr__(self) -> str:
        return (
            f"Evaluation({'passed' if self.passed else 'not passed'}, {self.next_step}: {'; '.join(self.reasons[:2])})"
        )


@dataclass(frozen=True, slots=True, repr=False)
class Snippet:
    """Whether a source is relevant to a query, and the part that answers it.

    Attributes:
        extracted: None for a source that is not relevant.
    """

    event: RelevanceJudged
    extracted: SnippetExtracted | None

    @property
    def relevant(self) -> bool:
        """Whether the judge found the source relevant."""
        return self.event.relevant

    @property
    def text(self) -> str:
        """The snippet; "" without one."""
        return (self.extracted.snippet or "") if self.extracted else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The judge's word, with what went wrong."""
        judge = f"the {self.event.llm.judged_by} judge: " if self.event.llm else ""
        failure = self.extracted.failure if self.extracted else None
        return _given(f"{judge}{self.event.outcome}", self.event.detail, self.event.summary_failure, failure)

    def __repr__(self) -> str:
        return f"Snippet({'; '.join(self.reasons)}: {shorten(self.text, 60, placeholder=' …')!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Claim:
    """Whether a claim can be understood without its source."""

    event: ClaimEvaluated

    @property
    def score(self) -> float | None:
        """From 0, fully dependent on its source, to 1; None if it could not be judged."""
        return self.event.decontextualization_score

    @property
    def promotable(self) -> bool:
        """Whether the three scores of the claim are there and reach the threshold."""
        return self.event.promotable

    @property
    def reasons(self) -> tuple[str, ...]:
        """The judge, the band of the score, or why there is no score."""
        event = self.event
        judge = f"the {event.llm.judged_by} judge: " if event.llm else ""
        return _given(
            f"{judge}{event.band if event.status == 'success' else event.status}", event.detail, event.exclusion
        )

    def __repr__(self) -> str:
        return f"Claim({self.score}, {'; '.join(self.reasons)})"


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """Candidates in the order of their relevance and trust."""

    event: RankingCompleted

    @property
    def results(self) -> tuple[RankedResult, ...]:
        """The results, each with ``score``, ``trust_label`` and ``reasons``."""
        return self.event.results

    @property
    def context(self) -> str:
        """The sources with their trust labels, ready for a prompt."""
        return self.event.context

    @property
    def nothing_relevant(self) -> bool:
        """Whether no candidate is relevant to the query."""
        return self.event.nothing_relevant

    @property
    def reasons(self) -> tuple[str, ...]:
        """What each stage of the ranking did."""
        return tuple(f"{note.stage}: {note.reason}" for note in self.event.notes)

    def __repr__(self) -> str:
        return f"Ranking({len(self.results)} results{', nothing relevant' * self.nothing_relevant})"


def _given(*texts: object) -> tuple[str, ...]:
    return tuple(str(text) for text in texts if text)
