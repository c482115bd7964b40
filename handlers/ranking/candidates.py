"""Candidates of a query: points of the index, or what a request brought along, merged into one a document.

Points are read with tolerance: older ones lack keys, and other writers fill a collection too (R-230, R-234).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from handlers.html.links import canonical_url
from handlers.indexing.points import SUMMARY
from handlers.ranking.config import RetrievalSection
from handlers.text.dates import MomentReader, iso_text, origin_of, stated_moment
from handlers.text.sentences import sentence_ends, sentences
from schemas.queries import CandidateTrust, RankingCandidate, cts_score_of
from schemas.replies import VectorHit

_WIDE_SPACE = re.compile(r"\s{2,}|[^\S \n]")
"""White space that is not yet one blank or one line break: most of it is, and a text has some of it at every word."""
_NO_SPACE = ("。", "！", "？", "；")
_MAX_AUTHORS = 20
_MOST_PLACES = 20
_OF_THE_PAGE = ("title", "author", "date", "site_name", "cts_score", "trust_features")
"""Keys that the points of one version of a page have in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One document that may answer the query.

    Attributes:
        url: Of the document; no two candidates of a query have the same.
        text: The ranked text: its best passages for the query, the best first, one a line; or the text that came along.
        passage: The best of them, to show.
        summary: Its description, "" where unknown.
        date: Of publication, ISO 8601; None where unknown.
        site_name: Its publisher as the crawler or the page named it.
        similarity: Cosine of its nearest point, or the retriever's own score; None without one.
        position: Place in the retriever's order, from 0, among the candidates at hand.
        cts_score: Content trust score; None where unknown (old points, foreign candidates).
        trust: The features of the score; None where unknown.
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


@dataclass(slots=True)
class _Document:
    """A candidate in the making: its best point, that point's payload, and the passages of all points, best first."""

    best: Candidate
    payload: Mapping[str, Any] = field(default_factory=dict)
    passages: list[str] = field(default_factory=list)


def merge_hits(hits: Sequence[VectorHit], section: RetrievalSection) -> tuple[Candidate, ...]:
    """The documents of the points found, at most ``section.candidates``, the one with the nearest point first.

    Two spellings of an address are one document. A missing or malformed value of a point is None.
    """
    documents: dict[str, _Document] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        payload = hit.payload
        url = _text(payload.get("url"))
        if not url:
            continue
        key = canonical_url(url) or url
        document = documents.get(key)
        if document is None:
            if len(documents) == section.candidates:
                continue  # documents come in the order of their best points
            document = documents[key] = _Document(_candidate(url, hit), payload)
        elif any(payload.get(name) != document.payload.get(name) for name in _OF_THE_PAGE):
            document.best = _filled(document.best, _candidate(url, hit))
        text = _text(payload.get("text"))
        if payload.get("kind") == SUMMARY and not document.best.summary:
            document.best = replace(document.best, summary=text)
        document.passages.append(text)
    return _finished(documents.values(), section)


def take_given(
    candidates: Sequence[RankingCandidate],
    section: RetrievalSection,
    words: Sequence[str] = (),
    most_shown: int | None = None,
    moments: MomentReader | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of a request, by their retriever's scores; in their own order where one has no score.

    Args:
        candidates: As they came along, whole pages among them.
        section: How much of a text is ranked: of a longer one, the part with the most of the words.
        words: Of the query, folded.
        most_shown: Characters of the passage, which is chosen in the same way; None for the ranked text.
        moments: Reads dates that are written in words; without it only ISO 8601 is read.
    """
    documents: dict[str, _Document] = {}
    given = list(candidates)
    if all(candidate.score is not None for candidate in given):
        given.sort(key=lambda candidate: -(candidate.score or 0.0))
    for candidate in given:
        trust = candidate.trust_features if candidate.trust_features != CandidateTrust() else None
        found = Candidate(
            url=candidate.url,
            title=candidate.title.strip(),
            text="",
            passage="",
            summary=candidate.summary.strip(),
            author=_names(candidate.author),
            date=_written_date(candidate.date, candidate.url, moments),
            site_name=(candidate.site_name or "").strip() or None,
            similarity=candidate.score,
            position=0,
            trust=trust,
            cts_score=_score(candidate.cts_score, trust),
        )
        document = documents.setdefault(canonical_url(found.url) or found.url, _Document(found))
        if document.best is not found:
            document.best = _filled(document.best, found)
        content = candidate.content
        if len(content) > section.max_characters:
            content = _WIDE_SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", content)
        document.passages.append(excerpt(content, words, section.max_characters))
    finished = _finished(documents.values(), section)
    if most_shown is None:
        return finished
    return tuple(replace(found, passage=excerpt(found.passage, words, most_shown).strip()) for found in finished)


def excerpt(text: str, words: Sequence[str], most: int) -> str:
    """The part of a text with the most of a query's words, the first of equal ones.

    Args:
        text: Of a candidate.
        words: As the query was read, folded.
        most: Characters.

    >>> excerpt("It rains a lot here. " * 3 + "The boat race is on Sunday. Bring an umbrella.", ("boat", "race"), 30)
    'The boat race is on Sunday. Br'
    """
    if len(text) <= most:
        return text
    places = sorted(_places(text.casefold(), words))
    start = best = first = 0
    there: Counter[str] = Counter()
    left = right = 0
    for place, _ in places:
        begin = max(0, place - most // 4)
        while right < len(places) and places[right][0] < begin + most:
            there[places[right][1]] += 1
            right += 1
        while places[left][0] < begin:
            there[places[left][1]] -= 1
            left += 1
        if (met := len(+there)) > best:
            start, best, first = begin, met, places[left][0]
    if start:
        # From the beginning of a sentence on, where one begins before the first of the words.
        start += max(sentence_ends(text[start:first]), default=0)
    return text[start:].lstrip()[:most]


def _places(folded: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The first places of each word."""
    for word in words:
        at = folded.find(word)
        for _ in range(_MOST_PLACES):
            if at < 0:
                break
            yield at, word
            at = folded.find(word, at + len(word))


def _candidate(url: str, hit: VectorHit) -> Candidate:
    payload = hit.payload
    trust = _trust(payload.get("trust_features"))
    return Candidate(
        url=url,
        title=_text(payload.get("title")),
        text="",
        passage="",
        author=_names(payload.get("author")),
        date=_date(payload.get("date")),
        site_name=_text(payload.get("site_name")) or None,
        similarity=hit.score,
        position=0,
        trust=trust,
        cts_score=_score(payload.get("cts_score"), trust),
    )


def _filled(best: Candidate, found: Candidate) -> Candidate:
    """The better point of a page, with what is missing filled from another one."""
    # Score and features are of one version of the page, or they contradict each other.
    scored = next((one for one in (best, found) if one.cts_score is not None), best if best.trust else found)
    return replace(
        best,
        title=best.title or found.title,
        summary=best.summary or found.summary,
        author=best.author or found.author,
        date=best.date or found.date,
        site_name=best.site_name or found.site_name,
        cts_score=scored.cts_score,
        trust=scored.trust,
    )


def _finished(documents: Iterable[_Document], section: RetrievalSection) -> tuple[Candidate, ...]:
    finished: list[Candidate] = []
    for position, document in enumerate(documents):
        passages = _distinct(document.passages, section)
        text = "\n".join(passages)[: section.max_characters].strip()
        passage = passages[0][: section.max_characters].strip() if passages else document.best.summary
        finished.append(replace(document.best, position=position, text=text, passage=passage))
    return tuple(finished)


def _distinct(passages: Iterable[str], section: RetrievalSection) -> list[str]:
    """The first passages, each on one line, without the sentences of those before it.

    An article's embedding is made of its beginning, which its first chunks hold too.
    """
    seen: set[str] = set()
    distinct: list[str] = []
    for passage in passages:
        cut = (" ".join(found.split()) for found in sentences(passage[: section.max_characters]))
        fresh = [sentence for sentence in cut if sentence not in seen]
        if fresh:
            # Chinese sentences have no space between them.
            spaced = (sentence if sentence.endswith(_NO_SPACE) else sentence + " " for sentence in fresh)
            distinct.append("".join(spaced).strip())
            seen.update(fresh)
        if len(distinct) == section.passages:
            break
    return distinct


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _names(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else (value,)
    return tuple(name for item in listed[:_MAX_AUTHORS] if (name := _text(item)))


def _written_date(value: object, url: str, moments: MomentReader | None) -> str | None:
    if moments is None or not isinstance(value, str):
        return _date(value)
    found = moments.read(value, origin_of(url, (), None, moments.patterns))
    return None if found is None else iso_text(found)


def _date(value: object) -> str | None:
    found = stated_moment(value) if isinstance(value, str) else None
    return None if found is None else iso_text(found)


def _trust(value: object) -> CandidateTrust | None:
    try:
        trust = CandidateTrust.model_validate(value) if isinstance(value, Mapping) else CandidateTrust()
    except ValidationError:
        return None
    return None if trust == CandidateTrust() else trust


def _score(value: Any, trust: CandidateTrust | None) -> int | None:
    """A content trust score; without a valid one, that of the features."""
    score = cts_score_of(value)
    return trust.cts_score if score is None and trust is not None else score
