"""From points of the index, or from what a request brought along, to candidates: one a document.

What was found goes in, nearest first; documents come out, best first, each with the passages that speak for it. Points
are read with tolerance: older ones lack keys, and other writers fill a collection too (R-230, R-234).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from handlers.html.links import canonical_url
from handlers.indexing.points import SUMMARY
from handlers.ranking.candidate import Candidate
from handlers.ranking.filters import BadFilter, fits, read_filters
from handlers.ranking.judge import excerpt
from handlers.ranking.sections import RetrievalSection
from handlers.text.dates import MomentReader, iso_text, origin_of, stated_moment
from handlers.text.sentences import sentences
from schemas.needs import SearchVectors
from schemas.queries import CandidateTrust, RankingCandidate, RankingRequested, cts_score_of
from schemas.replies import VectorHit

__all__ = ["BadFilter", "fits", "merge_hits", "read_filters", "search_for", "take_given"]

_WIDE_SPACE = re.compile(r"\s{2,}|[^\S \n]")
"""White space that is not yet one blank or one line break: most of it is, and a text has some of it at every word."""
_NO_SPACE = ("。", "！", "？", "；")
_MAX_AUTHORS = 20
_OF_THE_PAGE = ("title", "author", "date", "site_name", "cts_score", "trust_features")
"""Keys that the points of one reading of a page have in common: most need no second look."""


def search_for(request: RankingRequested, section: RetrievalSection) -> SearchVectors | BadFilter:
    """What the index is asked for; or why the request's filters can't be meant.

    Pages of the highest tier have a point for every few sentences, and may crowd out others: as many points are asked
    for as it takes to have enough documents.
    """
    filters = read_filters(request.filters)
    if isinstance(filters, BadFilter):
        return filters
    documents = min(max(section.documents, request.limit or 0), section.candidates)
    return SearchVectors("documents", request.query, section.points, filters, documents, section.most_points)


def merge_hits(hits: Sequence[VectorHit], section: RetrievalSection) -> tuple[Candidate, ...]:
    """The documents whose points were found, at most ``section.candidates``, the one with the nearest point first.

    Two spellings of an address are one document. What a point lacks, or holds in a form that it can't have, is None.
    """
    documents: dict[str, _Document] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        payload = hit.payload
        url = _text(payload.get("url"))
        if not url:
            continue
        key = _spelling(url)
        document = documents.get(key)
        if document is None:
            if len(documents) == section.candidates:
                continue  # documents come in the order of their best points
            document = documents[key] = _Document(_candidate(url, hit), payload)
        elif [*map(payload.get, _OF_THE_PAGE)] != [*map(document.payload.get, _OF_THE_PAGE)]:
            document.best = _filled(document.best, _candidate(url, hit))
        if payload.get("kind") == SUMMARY and not document.best.summary:
            document.best = replace(document.best, summary=_text(payload.get("text")))
        document.passages.append(_text(payload.get("text")))
    return _finished(documents.values(), section)


def take_given(
    candidates: Sequence[RankingCandidate],
    section: RetrievalSection,
    words: Sequence[str] = (),
    most_shown: int | None = None,
    moments: MomentReader | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of a request, all of them, by their retriever's scores; in their own order where one has none.

    Args:
        candidates: As they came along, whole pages among them.
        section: How much of a text is ranked; of a longer one that is the part with the most of the words.
        words: Of the query, folded.
        most_shown: Characters of the passage, which is chosen in the same way; None for all that is ranked.
        moments: Reads dates that are written in words; without it only ISO 8601 is read.
    """
    documents: dict[str, _Document] = {}
    given = list(candidates)
    if all(candidate.score is not None for candidate in given):
        given.sort(key=lambda candidate: -(candidate.score or 0.0))
    for candidate in given:
        trust = candidate.trust_features
        if trust == CandidateTrust():
            trust = None
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
        document = documents.setdefault(_spelling(found.url), _Document(found))
        if document.best is not found:
            document.best = _filled(document.best, found)
        document.passages.append(_part(candidate.content, words, section.max_characters))
    finished = _finished(documents.values(), section)
    if most_shown is None:
        return finished
    return tuple(replace(found, passage=excerpt(found.passage, words, most_shown).strip()) for found in finished)


def _part(text: str, words: Sequence[str], most: int) -> str:
    """A text, or of a longer one the part that has the most of the words; white space is not what it is cut for."""
    if len(text) <= most:
        return text
    return excerpt(_WIDE_SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text), words, most)


@dataclass(slots=True)
class _Document:
    """A candidate in the making: its best point, that point's payload, and the passages of all points, best first."""

    best: Candidate
    payload: Mapping[str, Any] = field(default_factory=dict)
    passages: list[str] = field(default_factory=list)


def _candidate(url: str, hit: VectorHit) -> Candidate:
    """What a point says of its page."""
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
    """What the better point of a page did not say, another one may."""
    # Score and features are of one reading of the page, or they contradict each other: of the best that has a score.
    knows_trust = next((one for one in (best, found) if one.cts_score is not None), best)
    if knows_trust.cts_score is None and best.trust is None:
        knows_trust = found
    return replace(
        best,
        title=best.title or found.title,
        summary=best.summary or found.summary,
        author=best.author or found.author,
        date=best.date or found.date,
        site_name=best.site_name or found.site_name,
        cts_score=knows_trust.cts_score,
        trust=knows_trust.trust,
    )


def _finished(documents: Iterable[_Document], section: RetrievalSection) -> tuple[Candidate, ...]:
    finished: list[Candidate] = []
    for position, document in enumerate(documents):
        best = document.best
        passages = _distinct(document.passages, section.passages, section.max_characters)
        text = "\n".join(passages)[: section.max_characters].strip()
        passage = passages[0][: section.max_characters].strip() if passages else best.summary
        finished.append(replace(best, position=position, text=text, passage=passage))
    return tuple(finished)


def _distinct(passages: Iterable[str], most: int, most_characters: int) -> list[str]:
    """The first passages, each on one line, without the sentences that one before it has.

    An article's embedding is made of its beginning, which its first chunks hold too. What comes after so many
    characters is not looked at, for it would be cut.
    """
    seen: set[str] = set()
    distinct: list[str] = []
    for passage in passages:
        fresh: list[str] = []
        length = 0
        for sentence in (" ".join(found.split()) for found in sentences(passage)):
            if sentence not in seen:
                # Chinese sentences have no space between them.
                fresh.append(sentence if sentence.endswith(_NO_SPACE) else sentence + " ")
                length += len(fresh[-1])
                if length > most_characters:
                    break
        if fresh:
            distinct.append("".join(fresh).strip())
            seen.update(map(str.strip, fresh))
        if len(distinct) == most:
            break
    return distinct


@lru_cache(maxsize=4096)
def _spelling(url: str) -> str:
    """What the spellings of an address have in common; a query's points are merged again for the judge's reply."""
    return canonical_url(url) or url


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
    if not isinstance(value, Mapping):
        return None
    try:
        trust = CandidateTrust.model_validate(value)
    except ValidationError:
        return None
    return None if trust == CandidateTrust() else trust


def _score(value: Any, trust: CandidateTrust | None) -> int | None:
    """A content trust score; that of the features stands in for what is none."""
    score = cts_score_of(value)
    return trust.cts_score if score is None and trust is not None else score
