"""Grades of served results, and measures of an order on them.

Measures are means over queries: a query that was asked forty times is one query, and its requests are averaged first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streams.training.config import GradeSection
from streams.training.join import ServedRequest, Signals

_DRAWS = 1000
RELEVANT = 1  # grade from which a result is relevant, unless a caller says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results of one request that were seen, as they were served: ranks, rows of features, and grades from 0 to 4.

    The query is normalised; groups of the same query are on the same side of the split.
    """

    query: str
    ranks: NDArray[np.int64]
    features: NDArray[np.float32]
    grades: NDArray[np.int64]


class Split(NamedTuple):
    trained: tuple[Group, ...]
    held_out: tuple[Group, ...]


def split_groups(requests: Iterable[ServedRequest], section: GradeSection, held_out: float) -> Split:
    """Grades every request and splits them by query; ``held_out`` is the share of the queries to hold out."""
    groups = [group_of(request, section) for request in requests]
    held = tuple(group for group in groups if is_held_out(group.query, held_out))
    return Split(tuple(group for group in groups if not is_held_out(group.query, held_out)), held)


def group_of(request: ServedRequest, section: GradeSection) -> Group:
    """The results of a request that were seen: down to the last one with feedback, and a few below it."""
    last = max(place for place, signals in enumerate(request.signals) if signals is not None)
    seen = min(len(request.signals), last + 1 + section.passed_over)
    return Group(
        query=normalized(request.query),
        ranks=np.array(request.ranks[:seen], dtype=np.int64),
        features=request.features[:seen],
        grades=np.array([grade_of(signals, section) for signals in request.signals[:seen]], dtype=np.int64),
    )


def grade_of(signals: Signals | None, section: GradeSection) -> int:
    """The explicit grade, else from the time of the stay, else from the click; 0 if seen without a click."""
    if signals is None:
        return 0
    if signals.grade is not None:
        return signals.grade
    stay = signals.dwell_ms or 0
    by_stay = [band.grade for band in section.dwell if stay and stay >= 1000 * band.seconds]
    return by_stay[-1] if by_stay else section.click if signals.clicked or stay else 0


def is_held_out(query: str, share: float) -> bool:
    """Whether a normalised query is held out: for every model with this share, whatever the data.

    So the model in force and a new one are compared on queries that neither has seen.
    """
    return int.from_bytes(sha256(query.encode("utf-8", "replace")).digest()[:8], "big") < share * 2**64


def normalized(query: str) -> str:
    """A query without case, width, extra spaces and punctuation.

    >>> normalized("  Climate   CHANGE? ") == normalized("climate change")
    True
    """
    text = unicodedata.normalize("NFKC", query).casefold()
    words = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text).split()
    return " ".join(words) or text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    ndcg_at_10: float
    precision_at_5: float
    map: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """NDCG@10 of one order minus that of another, on the same queries.

    From ``low`` to ``high`` is the interval of 95 in 100 resamples of the queries (bootstrap, Efron 1979). A verdict
    takes at least ``least`` different queries: resamples of a few are all alike, and their interval is too narrow.
    """

    ndcg_at_10: float
    low: float
    high: float
    queries: int
    least: int

    @property
    def verdict(self) -> str:
        if self.queries < self.least:
            only = "1 query" if self.queries == 1 else f"{self.queries:,} queries"
            return f"can't be told apart: only {only}"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "can't be told apart"


def judged(groups: Sequence[Group], relevant: int) -> tuple[Group, ...]:
    """The groups that an order can be judged by: some result is relevant, and not all are equally so."""
    return tuple(group for group in groups if (group.grades >= relevant).any() and np.ptp(group.grades) > 0)


def ordered_grades(group: Group, scores: Sequence[float] | NDArray[np.floating]) -> list[int]:
    """Grades in the order of the scores; equal ones stay as they were served."""
    grades: list[int] = group.grades[np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")].tolist()
    return grades


def measure(orders: Sequence[Sequence[int]], queries: Sequence[str], relevant: int) -> Measures:
    """Means over queries, of the grades of each request's results in order; ``relevant`` is the least good grade."""

    def mean(values: Sequence[float]) -> float:
        return float(_by_query(values, queries).mean())

    return Measures(
        ndcg_at_10=mean([ndcg_at(grades) for grades in orders]),
        precision_at_5=mean([precision_at(grades, 5, relevant) for grades in orders]),
        map=mean([average_precision(grades, relevant) for grades in orders]),
        mrr=mean([reciprocal_rank(grades, relevant) for grades in orders]),
    )


def compare(
    first: Sequence[float], other: Sequence[float], queries: Sequence[str], seed: int, least: int = 1
) -> Difference:
    """The difference of two orders by a figure for each request, whose queries are given; the bootstrap has a seed."""
    differences = _by_query(np.asarray(first) - np.asarray(other), queries)
    count = len(differences)
    generator = np.random.default_rng(seed)
    means = np.array([differences[generator.integers(0, count, count)].mean() for _ in range(_DRAWS)])
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(
        ndcg_at_10=float(differences.mean()), low=float(low), high=float(high), queries=count, least=least
    )


def _by_query(values: Sequence[float] | NDArray[np.float64], queries: Sequence[str]) -> NDArray[np.float64]:
    _, which, counts = np.unique(queries, return_inverse=True, return_counts=True)
    return np.bincount(which, weights=values) / counts


def ndcg_at(grades_in_order: Sequence[float], k: int = 10, all_grades: Sequence[float] | None = None) -> float:
    """Normalised discounted cumulative gain (Järvelin & Kekäläinen 2002; gain ``2^grade - 1`` of Burges et al. 2005).

    It is 0 where no grade is above 0. ``all_grades`` are those of everything that could have been shown.

    >>> round(ndcg_at([4, 0, 1], 10), 3)
    0.992
    """
    best = _gained(sorted(grades_in_order if all_grades is None else all_grades, reverse=True)[:k])
    return min(1.0, _gained(grades_in_order[:k]) / best) if best > 0 else 0.0


def precision_at(grades_in_order: Sequence[float], k: int, least: float = RELEVANT) -> float:
    """Share of the first k results, or of all where there are fewer, that are relevant.

    >>> precision_at([4, 0, 1], 2)
    0.5
    """
    seen = grades_in_order[:k]
    return sum(grade >= least for grade in seen) / len(seen) if seen else 0.0


def average_precision(grades_in_order: Sequence[float], least: float = RELEVANT) -> float:
    """Mean of the precision at each relevant result; its mean over queries is MAP.

    >>> round(average_precision([4, 0, 1]), 3)
    0.833
    """
    places = [place for place, grade in enumerate(grades_in_order, 1) if grade >= least]
    return sum(count / place for count, place in enumerate(places, 1)) / len(places) if places else 0.0


def reciprocal_rank(grades_in_order: Sequence[float], least: float = RELEVANT) -> float:
    """One over the place of the first relevant result, 0 without one; its mean over queries is MRR.

    >>> reciprocal_rank([0, 4, 1])
    0.5
    """
    return next((1 / place for place, grade in enumerate(grades_in_order, 1) if grade >= least), 0.0)


def _gained(grades: Sequence[float]) -> float:
    gain: float = sum((2**grade - 1) / log2(place + 1) for place, grade in enumerate(grades, 1))
    return gain
