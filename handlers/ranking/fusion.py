"""Transparent relevance of candidates: BM25 and the retriever's scores fused, with a few boosts. Nothing is learnt.

Scores are from 0 to 1 and comparable between queries: 0 has none of the query's words.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.ranking.query import ReadQuery
from handlers.text.tokens import divide, fold, forms_of, is_undivided

# White space before a sign is matched from the beginning of its run only: otherwise a run takes quadratic time.
_SEPARATOR = re.compile(r"(?<!\s)\s++[-–—:·•»/]++\s+|(?:(?<!\s)\s++)?(?:[|｜]|::)\s*|_{1,3}")
_TINY = 1e-12
_LEAST_REACH = 0.01
"""Relevance of the nearest candidate if no candidate has a word of the query: keeps the retriever's order."""
_DAY = 86_400.0
_AHEAD = 2.0
"""Days that a date may lie ahead, for zones and early editions; a document with a later date is not news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The relevance of one candidate, and its parts.

    Attributes:
        vector: Similarity as the retriever gave it; None where unknown.
        bm25: As a share of its upper bound, 0 to 1; 0 where BM25 is off.
        keyword_boost: For keywords in the title, and for words that are adjacent as in the query.
        keyword_overlap: Share of the keywords in title or text, 0 to 1.
        score: Relevance, 0 to 1, the higher the better.
        because: The reasons of the score, for people.
    """

    vector: float | None
    bm25: float
    keyword_boost: float
    temporal_boost: float
    keyword_overlap: float
    exact_title: bool
    score: float
    because: tuple[str, ...]


class Corpus:
    """The words of a query's candidates, read once."""

    def __init__(self, candidates: Sequence[Candidate], section: Bm25Section) -> None:
        """Reads titles and texts; linear in their length."""
        self._section = section
        self._folded: list[str] = []
        self._titles: list[Counter[str]] = []
        self._counts: list[dict[str, float]] = []
        sizes: list[tuple[int, int]] = []
        for candidate in candidates:
            title, text = fold(candidate.title), fold(candidate.text)
            head, body = divide(title), divide(text)
            counts: dict[str, float] = dict(Counter(body))
            for token in head:
                counts[token] = counts.get(token, 0.0) + section.title_weight
            self._folded.append(f" {title} \n {text} ")
            self._titles.append(Counter(head))
            self._counts.append(counts)
            sizes.append((len(head), len(body)))
        self._head, self._body = np.array(sizes, dtype=np.float64).reshape(-1, 2).T

    def scores(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """BM25+ of each candidate as a share of its upper bound: 0 without any of the words, towards 1 with all.

        The bound makes the scores of different queries comparable. One occurrence counts at least ``floor`` (Lv and
        Zhai, Lower-Bounding Term Frequency Normalization, 2011). A word is also found in its other inflections, and
        counts once however often the query has it. The inverse document frequency assumes ``others`` documents without
        any of the words: among three candidates alone, a word that two of them have would count nearly nothing.
        """
        section, times = self._section, _times(query_tokens, self._counts)
        have = np.count_nonzero(times, axis=0)
        idf = np.log1p((len(times) + section.others - have + 0.5) / (have + 0.5))
        lengths = self._body + section.title_weight * self._head
        mean = lengths.sum() / max(1, len(lengths)) or 1.0
        longer = section.k1 * (1 - section.b + section.b * lengths / mean)
        saturated = times / np.maximum(times + longer[:, None], _TINY)
        met = np.where(times > 0, section.floor + (1 - section.floor) * saturated, 0.0)
        return np.asarray(met @ (idf / idf.sum()), dtype=np.float64)

    def kept(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of its score that each candidate keeps, 0 to 1: 1 unless it repeats the query instead of answering.

        The share of its tokens that repeat words of the query decides; the first one in title and text is no
        repetition.
        """
        section, in_title = self._section, _times(query_tokens, self._titles)
        in_text = _times(query_tokens, self._counts) - section.title_weight * in_title
        again = (np.maximum(in_title - 1, 0) + np.maximum(in_text - 1, 0)).sum(axis=1)
        beyond = again / np.maximum(self._head + self._body, 1.0) - section.repetition_least
        costs = np.clip(beyond / (section.repetition_full - section.repetition_least), 0.0, 1.0)
        return np.asarray(1.0 - section.repetition_cost * costs, dtype=np.float64)

    def overlap(self, tokens: Sequence[str], *, in_title: bool = False) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title or text, or in its title; 0 without tokens."""
        times = _times(tokens, self._titles if in_title else self._counts)
        return np.asarray(np.count_nonzero(times, axis=1) / max(1, times.shape[1]), dtype=np.float64)

    def phrases(self, phrases: Sequence[str]) -> NDArray[np.float64]:
        """Share of the folded phrases that a candidate's title or text has word for word; 0 without phrases."""
        wanted = [phrase if is_undivided(phrase) else f" {phrase} " for phrase in phrases]
        found = [sum(phrase in text for phrase in wanted) for text in self._folded]
        return np.array(found, dtype=np.float64) / max(1, len(wanted))

    def likeness(self, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """How similar two candidates are: cosine of their tf-idf vectors, n x n, 0 to 1, 1 on the diagonal.

        Args:
            places: Of the candidates that are compared, and counted, in this order; all of them by default.
        """
        among = self._counts if places is None else [self._counts[place] for place in places]
        having = Counter(chain.from_iterable(among))
        place_of = dict(zip(having, range(len(having)), strict=True))
        size, have = len(among), np.array(list(having.values()), dtype=np.float64)
        idf = np.log1p((size - have + 0.5) / (have + 0.5))
        # A word of one candidate alone makes its vector longer and needs no column.
        column_of = np.where(have > 1, np.cumsum(have > 1) - 1, -1)
        # In single precision, twice as many words fit into a processor's cache.
        vectors = np.zeros((size, int(np.count_nonzero(have > 1))), dtype=np.float32)
        lengths = np.zeros(size)
        for row, counts in enumerate(among):
            words = np.fromiter(map(place_of.__getitem__, counts), np.int64, len(counts))
            weights = np.log1p(np.fromiter(counts.values(), np.float64, len(counts))) * idf[words]
            lengths[row] = np.sqrt(weights @ weights)
            columns = column_of[words]
            vectors[row, columns[columns >= 0]] = weights[columns >= 0]
        vectors /= np.maximum(lengths, _TINY)[:, None].astype(np.float32)
        cosine = np.clip(vectors @ vectors.T, 0.0, 1.0)
        np.fill_diagonal(cosine, 1.0)
        return np.asarray(cosine, dtype=np.float64)


def _times(tokens: Sequence[str], having: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """How often each candidate has each of the different tokens, in any inflection."""
    wanted = [forms_of(token) for token in dict.fromkeys(tokens)]
    times = [[sum(counts.get(form, 0.0) for form in forms) for forms in wanted] for counts in having]
    return np.array(times, dtype=np.float64).reshape(len(having), len(wanted))


def fuse(
    candidates: Sequence[Candidate], corpus: Corpus, query: ReadQuery, now: datetime | None, section: Bm25Section
) -> tuple[Fused, ...]:
    """Scores candidates, which ``corpus`` has in the same order, by vectors and words together.

    Without ``now``, when the query was asked, nothing is new. If BM25 is off, the vectors decide alone (R-257).
    """
    if not candidates:
        return ()
    words = float(section.enabled)
    nearness, overlap = _nearness(candidates), corpus.overlap(query.keywords)
    bm25 = words * corpus.scores(query.keywords)
    kept = 1.0 - words * (1.0 - corpus.kept(query.keywords))
    together = corpus.phrases(query.phrases or query.neighbours)
    for_together = section.phrase_boost if query.phrases else section.neighbour_boost
    in_title = corpus.overlap(query.keywords, in_title=True)
    boosts = words * (section.keyword_boost * in_title + for_together * together)
    news = np.array([words * _news(candidate.date, query, now, section) for candidate in candidates])
    shortened = _without_site(query.text, query.folded)
    titles = [section.enabled and _is_title(each.title, query.folded, shortened) for each in candidates]
    base, nearest = bm25, None
    if nearness is not None:
        # The vectors say which candidate is nearer than another one, and the words how near the best one is.
        reach = max(_LEAST_REACH, bm25.max()) if section.enabled else 1.0
        base = words * section.weight * bm25 + (1 - words * section.weight) * (nearness * reach)
        nearest = int(np.argmax(nearness))
    # Each boost takes its share of what is left up to 1; then a text pays for its repetitions.
    left = (1.0 - base) * (1.0 - np.minimum(boosts, 1.0))
    left *= 1.0 - min(section.exact_title_boost, 1.0) * np.array(titles, dtype=np.float64)
    scores = (1.0 - left * (1.0 - news * base)) * kept
    fused = []
    asked = len(query.keywords)
    for place, candidate in enumerate(candidates):
        reasons = {
            "title is the query": titles[place],
            f"{round(overlap[place] * asked)} of {asked} words in the text": asked > 0,
            "has the quoted phrase": section.enabled and together[place] == 1.0 and bool(query.phrases),
            "has the words side by side": section.enabled and together[place] == 1.0 and not query.phrases,
            "best score of the retriever": place == nearest,
            "recent": 0 < news[place] >= section.temporal_boost / 2,
            "repeats words of the query, which counts against it": kept[place] < 1,
        }
        fused.append(
            Fused(
                vector=candidate.similarity,
                bm25=float(bm25[place]),
                keyword_boost=float(boosts[place]),
                temporal_boost=float(news[place]),
                keyword_overlap=float(overlap[place]),
                exact_title=titles[place],
                score=float(scores[place]),
                because=tuple(reason for reason, holds in reasons.items() if holds),
            )
        )
    return tuple(fused)


def age_in_days(date: str | None, now: datetime) -> float | None:
    """Days since a document's date (UTC without a zone), below 0 for a future one; None where it can't be read."""
    try:
        then = datetime.fromisoformat(date or "")
    except ValueError:
        return None
    then, now = (moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in (then, now))
    return (now - then).total_seconds() / _DAY


def _news(date: str | None, query: ReadQuery, now: datetime | None, section: Bm25Section) -> float:
    if now is None or not query.wants_news or (age := age_in_days(date, now)) is None or age < -_AHEAD:
        return 0.0
    return float(section.temporal_boost * 0.5 ** (max(0.0, age) / section.half_life_days))


def _is_title(title: str, folded_query: str, query_without_site: tuple[str, ...]) -> bool:
    """Whether a title is the query, but for case, punctuation and a site's name beside either of them."""
    folded = fold(title)
    if not folded or not folded_query:
        return False
    return folded in (folded_query, *query_without_site) or folded_query in _without_site(title, folded)


def _without_site(title: str, folded: str) -> tuple[str, ...]:
    """A title without its last and without its first part, where that is the lesser one."""
    parts = [part for part in map(fold, _SEPARATOR.split(title)) if part]
    kept = (" ".join(parts[:-1]), " ".join(parts[1:])) if len(parts) > 1 else ()
    return tuple(part for part in kept if 2 * len(part) > len(folded))


def _nearness(candidates: Sequence[Candidate]) -> NDArray[np.float64] | None:
    """The retriever's scores as shares of their span, 0 to 1; None without scores.

    Embedders and foreign retrievers have different scales. Without scores their order says nothing: many sources list
    theirs by date or by name.
    """
    scores = np.array([math.nan if each.similarity is None else each.similarity for each in candidates])
    known = np.isfinite(scores)
    if not known.any():
        return None
    # Halved, for the span of a foreign retriever's scores may be more than a float holds.
    scores = np.where(known, scores, scores[known].min()) / 2
    span = scores.max() - scores.min()
    return np.asarray((scores - scores.min()) / span if span > 0 else known, dtype=np.float64)
