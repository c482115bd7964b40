"""BM25 over the candidates of one query, and how similar they are to each other.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.text.tokens import divide, fold, forms_of, is_undivided

_TINY = 1e-12


class Corpus:
    """The words of a query's candidates, read once."""

    def __init__(self, candidates: Sequence[Candidate], section: Bm25Section) -> None:
        """Reads titles and texts; linear in their length."""
        self._section = section
        self._folded: list[str] = []
        self._titles: list[Counter[str]] = []
        self._counts: list[dict[str, float]] = []
        lengths: list[float] = []
        sizes: list[int] = []
        for candidate in candidates:
            title, text = fold(candidate.title), fold(candidate.text)
            head, body = divide(title), divide(text)
            counts: dict[str, float] = dict(Counter(body))
            for token in head:
                counts[token] = counts.get(token, 0.0) + section.title_weight
            self._folded.append(f" {title} \n {text} ")
            self._titles.append(Counter(head))
            sizes.append(len(body) + len(head))
            self._counts.append(counts)
            lengths.append(len(body) + section.title_weight * len(head))
        self._lengths = np.array(lengths, dtype=np.float64)
        self._sizes = np.array(sizes, dtype=np.float64)

    def scores(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """BM25+ of each candidate as a share of its upper bound: 0 without any of the words, towards 1 with all.

        The bound makes the scores of different queries comparable. One occurrence counts at least ``floor`` (Lv and
        Zhai, Lower-Bounding Term Frequency Normalization, 2011). A word is also found in its other inflections, and
        counts once however often the query has it. The inverse document frequency assumes ``others`` documents without
        any of the words: among three candidates alone, a word that two of them have would count nearly nothing.
        """
        wanted = tuple(dict.fromkeys(query_tokens))
        if not wanted or not self._counts:
            return np.zeros(len(self._counts))
        section, times = self._section, _times(wanted, self._counts)
        have = np.count_nonzero(times, axis=0)
        idf = np.log1p((len(self._counts) + section.others - have + 0.5) / (have + 0.5))
        longer = section.k1 * (1 - section.b + section.b * self._lengths / (self._lengths.mean() or 1.0))
        saturated = times / np.maximum(times + longer[:, None], _TINY)
        met = np.where(times > 0, section.floor + (1 - section.floor) * saturated, 0.0)
        return np.asarray(met @ (idf / idf.sum()), dtype=np.float64)

    def kept(self, query_tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of its score that each candidate keeps, 0 to 1: 1 unless it repeats the query instead of answering.

        The share of its tokens that repeat words of the query decides; the first one in title and text is no
        repetition.
        """
        wanted = tuple(dict.fromkeys(query_tokens))
        if not wanted or not self._counts:
            return np.ones(len(self._counts))
        section, in_title = self._section, _times(wanted, self._titles)
        in_text = _times(wanted, self._counts) - section.title_weight * in_title
        again = (np.maximum(in_title - 1, 0) + np.maximum(in_text - 1, 0)).sum(axis=1)
        beyond = again / np.maximum(self._sizes, 1.0) - section.repetition_least
        costs = np.clip(beyond / (section.repetition_full - section.repetition_least), 0.0, 1.0)
        return np.asarray(1.0 - section.repetition_cost * costs, dtype=np.float64)

    def overlap(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title or text, 0 to 1; 0 without tokens."""
        return _shares(tokens, self._counts)

    def title_overlap(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Share of the tokens that a candidate has in its title, 0 to 1; 0 without tokens."""
        return _shares(tokens, self._titles)

    def phrases(self, phrases: Sequence[str]) -> NDArray[np.float64]:
        """Share of the folded phrases that a candidate's title or text has word for word, 0 to 1; 0 without any."""
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


def _times(wanted: Sequence[str], having: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    forms = [forms_of(token) for token in wanted]
    return np.array([[sum(counts.get(form, 0.0) for form in one) for one in forms] for counts in having])


def _shares(tokens: Sequence[str], having: Sequence[Container[str]]) -> NDArray[np.float64]:
    wanted = [forms_of(token) for token in dict.fromkeys(tokens)]
    found = [sum(any(form in there for form in forms) for forms in wanted) for there in having]
    return np.array(found, dtype=np.float64) / max(1, len(wanted))
