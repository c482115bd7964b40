"""BM25 over the candidates of one query, and how like one another they are.

In: candidates. Out: a ``Corpus`` that is built once a query and answers with numbers a candidate: how well words of a
query are met in it, which share of them it has, and how like each other candidate it is.
Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidate import Candidate
from handlers.ranking.sections import Bm25Section
from handlers.ranking.tokens import divide, fold, forms_of, is_undivided

_TINY = 1e-12


class Corpus:
    """The words of a query's candidates, read once."""

    def __init__(self, candidates: Sequence[Candidate], section: Bm25Section) -> None:
        """Reads titles and texts; linear in their length.

        Args:
            candidates: Of one query.
            section: ``k1`` and ``b`` of BM25, and how often a word of a title counts.
        """
        self._k1, self._b = section.k1, section.b
        self._folded: list[str] = []
        self._titles: list[frozenset[str]] = []
        self._counts: list[dict[str, float]] = []
        lengths: list[float] = []
        for candidate in candidates:
            title, text = fold(candidate.title), fold(candidate.text)
            head, body = divide(title), divide(text)
            counts: dict[str, float] = dict(Counter(body))
            for token in head:
                counts[token] = counts.get(token, 0.0) + section.title_weight
            self._folded.append(f" {title} \n {text} ")
            self._titles.append(frozenset(head))
            self._counts.append(counts)
            lengths.append(len(body) + section.title_weight * len(head))
        self._lengths = np.array(lengths, dtype=np.float64)

    def scores(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """BM25 of each candidate, 0 where it has none of the words; a word that is asked twice counts twice.

        A word is met by its plural and singular too. The inverse document frequency is that of the candidates, in the
        form that is never negative.
        """
        wanted = Counter(query_tokens)
        if not wanted or not self._counts:
            return np.zeros(len(self._counts))
        forms = [forms_of(token) for token in wanted]
        times = np.array([[sum(counts.get(form, 0.0) for form in one) for one in forms] for counts in self._counts])
        have = np.count_nonzero(times, axis=0)
        idf = np.log1p((len(self._counts) - have + 0.5) / (have + 0.5)) * np.array(list(wanted.values()))
        # Where no candidate has a word, any length will do.
        longer = self._k1 * (1 - self._b + self._b * self._lengths / (self._lengths.mean() or 1.0))
        met = times * (self._k1 + 1) / np.maximum(times + longer[:, None], _TINY)
        return np.asarray(met @ idf, dtype=np.float64)

    def overlap(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title or text, 0 to 1; 0 without tokens."""
        return _shares(tokens, self._counts)

    def title_overlap(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title, 0 to 1; 0 without tokens."""
        return _shares(tokens, self._titles)

    def phrases(self, phrases: Sequence[str]) -> NDArray[np.float64]:
        """Share of the phrases that stand in a candidate's title or text word for word, 0 to 1; 0 without phrases.

        Args:
            phrases: Folded.
        """
        wanted = [phrase if is_undivided(phrase) else f" {phrase} " for phrase in phrases]
        found = [sum(phrase in text for phrase in wanted) for text in self._folded]
        return np.array(found, dtype=np.float64) / max(1, len(wanted))

    def likeness(self, places: Sequence[int] | None = None) -> NDArray[np.float64]:
        """How like two candidates are: cosine of their tf-idf vectors, n x n, 0 to 1, 1 on the diagonal.

        A word that one candidate alone has makes it longer and likens it to none, so it needs no column.

        Args:
            places: Of the candidates that are compared, and counted, in this order; all of them by default.
        """
        among = self._counts if places is None else [self._counts[place] for place in places]
        having = Counter(chain.from_iterable(among))
        place_of = dict(zip(having, range(len(having)), strict=True))
        size, have = len(among), np.array(list(having.values()), dtype=np.float64)
        idf = np.log1p((size - have + 0.5) / (have + 0.5))
        column_of = np.where(have > 1, np.cumsum(have > 1) - 1, -1)
        # Single precision: twice as many of a hundred texts' words fit into a processor's cache.
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


def _shares(tokens: Sequence[str], having: Sequence[Container[str]]) -> NDArray[np.float64]:
    wanted = [forms_of(token) for token in dict.fromkeys(tokens)]
    found = [sum(any(form in there for form in forms) for forms in wanted) for there in having]
    return np.array(found, dtype=np.float64) / max(1, len(wanted))
