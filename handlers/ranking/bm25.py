"""BM25 over the candidates of one query, and how like one another they are.

In: candidates. Out: a ``Corpus`` that is built once a query and answers with numbers a candidate: how well words of a
query are met in it, which share of them it has, and how like each other candidate it is.
Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidate import Candidate
from handlers.ranking.sections import Bm25Section
from handlers.ranking.tokens import tokenize


class Corpus:
    """The words of a query's candidates.

    Attributes:
        titles: The tokens of each title.
        counts: How often each token comes in a candidate, a word of its title ``title_weight`` times.
    """

    def __init__(self, candidates: Sequence[Candidate], section: Bm25Section) -> None:
        """Reads titles and texts; linear in their length."""
        self._k1, self._b = section.k1, section.b
        self.titles: tuple[frozenset[str], ...] = ()
        self.counts: list[Counter[str]] = []
        titles: list[frozenset[str]] = []
        lengths: list[float] = []
        for candidate in candidates:
            text, title = tokenize(candidate.text), tokenize(candidate.title)
            counts: Counter[str] = Counter(text)
            for token in title:
                counts[token] += section.title_weight  # type: ignore[assignment]
            self.counts.append(counts)
            titles.append(frozenset(title))
            lengths.append(len(text) + section.title_weight * len(title))
        self.titles = tuple(titles)
        self._lengths = np.array(lengths, dtype=np.float64)

    def scores(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """BM25 of each candidate, 0 where it has none of the words; a word that is asked twice counts twice.

        The inverse document frequency is that of the candidates, in the form that is never negative.
        """
        wanted = Counter(query_tokens)
        if not wanted or not self.counts:
            return np.zeros(len(self.counts))
        times = self._times(wanted)
        have = np.count_nonzero(times, axis=0)
        idf = np.log1p((len(self.counts) - have + 0.5) / (have + 0.5)) * np.fromiter(wanted.values(), np.float64)
        mean = self._lengths.mean() or 1.0
        longer = self._k1 * (1 - self._b + self._b * self._lengths / mean)
        met = times * (self._k1 + 1) / np.maximum(times + longer[:, None], 1e-12)
        return np.asarray(met @ idf, dtype=np.float64)

    def overlap(self, tokens: Iterable[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title or text, 0 to 1; 0 without tokens."""
        wanted = frozenset(tokens)
        return _shares([len(wanted.intersection(counts)) for counts in self.counts], len(wanted))

    def title_overlap(self, tokens: Iterable[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title, 0 to 1; 0 without tokens."""
        wanted = frozenset(tokens)
        return _shares([len(wanted & title) for title in self.titles], len(wanted))

    def likeness(self) -> NDArray[np.float64]:
        """How like two candidates are: cosine of their tf-idf vectors, n x n, 0 to 1, 1 on the diagonal.

        A word that one candidate alone has makes it longer and likens it to none, so it needs no column.
        """
        size = len(self.counts)
        having = Counter(token for counts in self.counts for token in counts)
        columns = {token: column for column, token in enumerate(token for token, n in having.items() if n > 1)}
        idf_of = {token: np.log1p((size - n + 0.5) / (n + 0.5)) for token, n in having.items()}
        vectors = np.zeros((size, len(columns)))
        lengths = np.zeros(size)
        for row, counts in enumerate(self.counts):
            idf = np.fromiter(map(idf_of.__getitem__, counts), np.float64, len(counts))
            weights = (1 + np.log(np.fromiter(counts.values(), np.float64, len(counts)))) * idf
            lengths[row] = np.sqrt(weights @ weights)
            places = np.fromiter((columns.get(token, -1) for token in counts), np.int64, len(counts))
            shared = places >= 0
            vectors[row, places[shared]] = weights[shared]
        vectors /= np.maximum(lengths, 1e-12)[:, None]
        cosine = np.clip(vectors @ vectors.T, 0.0, 1.0)
        np.fill_diagonal(cosine, 1.0)
        return np.asarray(cosine, dtype=np.float64)

    def _times(self, wanted: Iterable[str]) -> NDArray[np.float64]:
        tokens = tuple(wanted)
        return np.array([[counts.get(token, 0) for token in tokens] for counts in self.counts], dtype=np.float64)


def _shares(found: list[int], of: int) -> NDArray[np.float64]:
    return np.array(found, dtype=np.float64) / max(1, of)
