"""A candidate: what every stage of a query works on, whoever retrieved it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.queries import CandidateTrust


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One document that may answer the query.

    Attributes:
        url: Of the document; no two candidates of a query have the same.
        title: Of the document.
        text: What is ranked: its best passages for the query, the best first, one a line; or the text that was given.
        passage: The best of them, to show.
        summary: Its description, "" where unknown.
        author: Its authors.
        date: Of publication, ISO 8601; None where unknown.
        site_name: Its publisher as the crawler or the page named it.
        similarity: Cosine of its nearest point, or the retriever's own score; None where there is none.
        position: Place in the retriever's order, from 0, among the candidates at hand.
        cts_score: Content trust score; None where unknown (old points, foreign candidates).
        trust: What the score rests on; None where unknown.
    """

    url: str
    title: str
    text: str
    passage: str
    summary: str = ""
    author: tuple[str, ...] = ()
    date: str | None = None
    site_name: str | None = None
    similarity: float | None = None
    position: int
    cts_score: int | None = None
    trust: CandidateTrust | None = None
