"""Candidates of a query: points of the index, or candidates of the request, merged into one a document.

Points are read with tolerance: older ones lack keys, and other writers fill a collection too (R-230, R-234).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pydantic import ValidationError

from handlers.html.links import canonical_url, page_id_of
from handlers.indexing.points import SUMMARY
from handlers.ranking.config import RetrievalSection
from handlers.text.dates import MomentReader, iso_text, origin_of, stated_moment
from handlers.text.sentences import sentence_ends, sentences
from schemas.queries import CandidateTrust, RankingCandidate, cts_score_of
from schemas.replies import VectorHit

_WIDE_SPACE = re.compile(r"\s{2,}|[^\S \n]")
"""White space other than a single blank or line break."""
_NO_SPACE = ("。", "！", "？", "；")
_MAX_AUTHORS = 20
_MOST_PLACES = 20
_FILLED = ("title", "summary", "author", "date", "site_name", "publisher", "gives_orders")
"""What a point that lacks it takes from another point of its page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One document that may answer the query.

    Attributes:
        url: Of the document; no two candidates of a query have the same.
        text: The ranked text: its best passages for the query, the best first, one a line; or the request's text.
        passage: The best of them, to show.
        date: Of publication, ISO 8601; None where unknown.
        similarity: Cosine of its nearest point, or the retriever's own score; None without one.
        position: Place in the retriever's order, from 0, among the candidates at hand.
        publisher: As the crawler names it; ``site_name`` may be the page's own claim.
        trust: The features of the content trust score; both are None where unknown (old points, foreign candidates, and
            addresses that open no web page).
        gives_orders: Whether a part of it is written to a machine.
    """

    url: str
    title: str
    text: str = ""
    passage: str = ""
    summary: str = ""
    author: tuple[str, ...] = ()
    date: str | None = None
    site_name: str | None = None
    publisher: str | None = None
    similarity: float | None = None
    position: int = 0
    cts_score: int | None = None
    trust: CandidateTrust | None = None
    gives_orders: bool = False


def merge_hits(hits: Sequence[VectorHit], section: RetrievalSection) -> tuple[Candidate, ...]:
    """The documents of the points found, at most ``section.candidates``, the one with the nearest point first.

    Two spellings of an address are one document. A missing or malformed value of a point is None.
    """
    found = []
    for hit in sorted(hits, key=lambda hit: -hit.score):
        payload, text = hit.payload, _text(hit.payload.get("text"))
        if url := _text(payload.get("url")):
            summary = text if payload.get("kind") == SUMMARY else ""
            found.append((_candidate(url, payload, hit.score, _date(payload.get("date")), summary), text))
    return _merged(found, section, section.candidates)


def take_given(
    candidates: Sequence[RankingCandidate],
    section: RetrievalSection,
    words: Sequence[str] = (),
    most_shown: int | None = None,
    moments: MomentReader | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of a request, by their retriever's scores; in their own order where one has no score.

    Of a longer text than ``section.max_characters``, the part with the most of the query's ``words`` is ranked; the
    passage is chosen in the same way by ``most_shown``. Without ``moments``, only dates in ISO 8601 are read.
    """
    given, most = list(candidates), section.max_characters
    if all(candidate.score is not None for candidate in given):
        given.sort(key=lambda candidate: -(candidate.score or 0.0))
    found = []
    for one in given:
        content = one.content
        if len(content) > most:
            content = _WIDE_SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", content)
        date = _date(one.date, one.url, moments)
        candidate = _candidate(one.url, {**dict(one), "author": one.authors}, one.score, date, one.summary.strip())
        found.append((candidate, excerpt(content, words, most)))
    merged = _merged(found, section)
    if most_shown is None:
        return merged
    return tuple(replace(each, passage=excerpt(each.passage, words, most_shown).strip()) for each in merged)


def excerpt(text: str, words: Sequence[str], most: int) -> str:
    """The part of a text, of ``most`` characters, with the most of a query's folded words, the first of equal ones.

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


def _candidate(
    url: str, fields: Mapping[str, Any], similarity: float | None, date: str | None, summary: str
) -> Candidate:
    is_page = page_id_of(url) is not None
    trust = _trust(fields.get("trust_features")) if is_page else None
    return Candidate(
        url=url,
        title=_text(fields.get("title")),
        summary=summary,
        author=_names(fields.get("author")),
        date=date,
        site_name=_text(fields.get("site_name")) or None,
        publisher=_text(fields.get("publisher")) or None,
        similarity=similarity,
        trust=trust,
        cts_score=_score(fields.get("cts_score"), trust) if is_page else None,
        gives_orders=fields.get("gives_orders") is True,
    )


def _merged(
    found: Iterable[tuple[Candidate, str]], section: RetrievalSection, most: int | None = None
) -> tuple[Candidate, ...]:
    """One candidate a document, of the first ``most`` documents, with its passages as they come."""
    documents: dict[str, tuple[Candidate, list[str]]] = {}
    for candidate, passage in found:
        key = canonical_url(candidate.url) or candidate.url
        best, passages = documents.get(key, (candidate, []))
        documents[key] = (_filled(best, candidate), [*passages, passage])
    merged = []
    for position, (best, passages) in enumerate(islice(documents.values(), most)):
        distinct = _distinct(passages, section)
        text = "\n".join(distinct)[: section.max_characters].strip()
        passage = distinct[0][: section.max_characters].strip() if distinct else best.summary
        merged.append(replace(best, position=position, text=text, passage=passage))
    return tuple(merged)


def _filled(best: Candidate, found: Candidate) -> Candidate:
    """The better point of a page, with missing values from another one."""
    # Score and features are of one version of the page, or they contradict each other.
    scored = next((one for one in (best, found) if one.cts_score is not None), best if best.trust else found)
    filled = {name: getattr(best, name) or getattr(found, name) for name in _FILLED}
    return replace(best, **filled, cts_score=scored.cts_score, trust=scored.trust)


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


def _date(value: object, url: str = "", moments: MomentReader | None = None) -> str | None:
    if not isinstance(value, str):
        return None
    found = moments.read(value, origin_of(url, (), None, moments.patterns)) if moments else stated_moment(value)
    return None if found is None else iso_text(found)


def _trust(value: object) -> CandidateTrust | None:
    try:
        trust = CandidateTrust.model_validate(value or {})
    except ValidationError:
        return None
    return None if trust == CandidateTrust() else trust


def _score(value: Any, trust: CandidateTrust | None) -> int | None:
    """A content trust score; without a valid one, that of the features."""
    score = cts_score_of(value)
    return trust.cts_score if score is None and trust is not None else score
