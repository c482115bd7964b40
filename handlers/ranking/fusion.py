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
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.ranking.query import ReadQuery
from handlers.text.sentences import sentences
from handlers.text.tokens import divide, fold, forms_of, is_undivided

# White space before a sign is matched from the beginning of its run only: otherwise a run takes quadratic time.
_SEPARATOR = re.compile(r"(?<!\s)\s++[-–—:·•»/]++\s+|(?:(?<!\s)\s++)?(?:[|｜]|::)\s*|_{1,3}")
_TINY = 1e-12
_NEAR = 10.0
"""Tokens from the beginning at which a word counts half as early."""
_QUOTED = 6
"""Keywords from which on the text of a query is no heading: a sentence that has only these is what was looked for."""
_LEAST_OTHERS = 5
_DENSER, _OFTEN = 0.15, 0.5
"""How much denser than ``repetition_least`` a text keeps nothing, where its words come half as often again."""
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
        keyword_boost: For keywords in the title or early in the text, and for words that are adjacent as in the query.
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
    """The words of a query in its candidates, read once.

    No candidate changes what another one gets, and the background of all texts says how much a word counts. So the
    scores of different queries are comparable.

    Attributes:
        bm25: As a share of its upper bound, 0 to 1: 0 without any of the words. A word counts once in a sentence, in
            any inflection; where it occurs, it counts at least ``floor`` (Lv and Zhai, Lower-Bounding Term Frequency
            Normalization, 2011).
        overlap: Share of the words in title or text.
        early: How near to the beginning the words are, 0 to 1; those of the title are the first.
        together: Share of the pairs of neighbours in the query that are neighbours in title or text.
        hits: How often title and text have words of the query.
        kept: Share of its score that a candidate keeps: 1 unless its text repeats the query instead of answering it.
    """

    def __init__(self, candidates: Sequence[Candidate], section: Bm25Section, words: Mapping[str, float]) -> None:
        """Reads titles and texts; linear in their length.

        Args:
            candidates: In any order.
            section: How words count.
            words: Those of the query in its order, with their inverse document frequencies; 0 for those that say
                nothing of its subject.
        """
        idf = np.array([*words.values()])
        self._title_weight, self._candidates = section.title_weight, candidates
        self._columns = {form: at for at, word in reversed([*enumerate(words)]) for form in forms_of(word)}
        self._says = idf > 0
        self._counts: list[dict[str, float]] = []
        seen = [self._see(candidate) for candidate in candidates]
        shape = len(seen), len(words)
        in_title, times, first, beside = (np.array([one[part] for one in seen]).reshape(shape) for part in range(4))
        head, body, in_text, different = np.array([one[4] for one in seen], dtype=np.float64).reshape(-1, 4).T
        weights = idf / max(idf.sum(), _TINY)
        pairs = weights[:-1] + weights[1:]
        times = times + section.title_weight * in_title
        longer = 1 - section.b + section.b * (body + section.title_weight * head) / section.usual_length
        saturated = times / np.maximum(times + section.k1 * longer[:, None], _TINY)
        self.bm25 = np.where(times > 0, section.floor + (1 - section.floor) * saturated, 0.0) @ weights
        self.overlap = np.count_nonzero(times[:, self._says], axis=1) / max(1, np.count_nonzero(self._says))
        self.early = ((times > 0) / (1 + first / _NEAR)) @ weights
        self.together = beside[:, :-1] @ pairs / max(pairs.sum(), _TINY)
        self.hits = in_text + in_title @ self._says
        density = (in_text / np.maximum(body, 1) - section.repetition_least) / _DENSER
        again = in_text / np.maximum(different, 1) - 1
        self.kept = 1 - np.clip(density, 0.0, 1.0) * np.clip(again / _OFTEN, 0.0, 1.0)

    def _see(self, candidate: Candidate) -> tuple[Any, ...]:
        """By word: in the title, in how many sentences, the first place, whether beside the next; then four lengths."""
        title, columns = divide(fold(candidate.title)), self._columns
        said = [divide(fold(sentence)) for sentence in sentences(candidate.text, is_folded=True)]
        tokens = [*chain.from_iterable(said)]
        counts: dict[str, float] = dict(Counter(tokens))
        for token in title:
            counts[token] = counts.get(token, 0.0) + self._title_weight
        # Texts that differ in the words of the query alone are copies, unless little else is there.
        others = {token: count for token, count in counts.items() if token not in columns}
        self._counts.append(others if len(others) >= _LEAST_OTHERS else counts)
        in_title, times, first, beside = ([0.0] * len(self._says) for _ in range(4))
        begin = 0
        for place, part in enumerate((title, *said)):
            # A sentence that echoes a short query says nothing, but for the first one, which is a heading.
            if place < 2 or np.count_nonzero(self._says) >= _QUOTED or any(token not in columns for token in part):
                hits = [(at, columns[token]) for at, token in enumerate(part, begin) if token in columns]
                for at, column in reversed(hits):
                    if not in_title[column] and not times[column]:
                        first[column] = at
                for column in {column for _, column in hits}:
                    (times if place else in_title)[column] += 1
                for (at, column), (following, other) in pairwise(hits):
                    if other == column + 1 and following <= at + 2:
                        beside[column] = 1.0
            begin += len(part) if place else 0
        found = [columns[token] for token in tokens if token in columns and self._says[columns[token]]]
        return in_title, times, first, beside, (len(title), len(tokens), len(found), len(set(found)))

    def phrases(self, phrases: Sequence[str]) -> NDArray[np.float64]:
        """Share of the folded phrases that a candidate's title or text has word for word; 0 without phrases."""
        wanted = [phrase if is_undivided(phrase) else f" {phrase} " for phrase in phrases]
        texts = [f" {fold(each.title)} \n {fold(each.text)} " if wanted else "" for each in self._candidates]
        found = [sum(phrase in text for phrase in wanted) for text in texts]
        return np.array(found, dtype=np.float64) / max(1, len(wanted))

    def likeness(self, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """How similar two candidates are but for the query's words: cosine of their tf-idf vectors, n x n, 0 to 1.

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


def fuse(
    candidates: Sequence[Candidate],
    corpus: Corpus,
    query: ReadQuery,
    now: datetime | None,
    section: Bm25Section,
    against: Sequence[tuple[str, ...]] = (),
) -> tuple[Fused, ...]:
    """Scores candidates, which ``corpus`` has in the same order, by vectors and words together.

    Without ``now``, when the query was asked, nothing is new. If BM25 is off, the vectors decide alone (R-257).
    """
    if not candidates:
        return ()
    words, nearness = float(section.enabled), _nearness(candidates)
    bm25, overlap = words * corpus.bm25, corpus.overlap
    together = corpus.phrases(query.phrases) if query.phrases else corpus.together
    for_together = section.phrase_boost if query.phrases else section.neighbour_boost
    boosts = words * (section.early_boost * corpus.early + for_together * together)
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
    kept = 1.0 - words * (1.0 - corpus.kept)
    scores = (1.0 - left * (1.0 - news * base)) * kept
    scores *= [1.0 - words * section.unmet_condition * bool(unmet) for unmet in against] or 1.0
    fused = []
    asked = len(query.keywords)
    for place, candidate in enumerate(candidates):
        reasons = {
            "title is the query": titles[place],
            f"{round(overlap[place] * asked)} of {asked} words in the text": asked > 0,
            "has the quoted phrase": section.enabled and together[place] > 1 - _TINY and bool(query.phrases),
            "has the words side by side": section.enabled and together[place] > 1 - _TINY and not query.phrases,
            "best score of the retriever": place == nearest,
            "recent": 0 < news[place] >= section.temporal_boost / 2,
            f"does not fit: {', '.join(against[place]) if against else ''}": bool(against and against[place]),
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
