"""How good an order is on queries that were held out, and how sure it is that one order is better than another.

In: groups with their grades, and the scores by which each group would be ordered. Out: means over the queries in which
anything is relevant (in the others every order is as good), and the difference of two orders with an interval. A query
that was asked forty times is one query: its requests are averaged first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.metrics import average_precision, ndcg_at, precision_at, reciprocal_rank
from handlers.training.grading import Group

DEPTH = 10
"""Results that NDCG looks at."""
FIRST = 5
"""Results that precision looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Means over the queries that were judged."""

    ndcg_at_10: float
    precision_at_5: float
    map: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """By how much NDCG@10 of one order is above that of another, on the same queries.

    Attributes:
        low: Lower end of the interval in which 95 of 100 resamples of the queries fall (bootstrap, Efron 1979).
        high: Upper end.
        queries: Different ones.
        least: So many of them does a verdict take: resamples of a few are all alike, and their interval is too narrow.
    """

    ndcg_at_10: float
    low: float
    high: float
    queries: int
    least: int

    @property
    def verdict(self) -> str:
        """What the interval says: better, worse, or that it can't be told."""
        if self.queries < self.least:
            only = "1 query" if self.queries == 1 else f"{self.queries:,} queries"
            return f"can't be told apart: only {only}"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "can't be told apart"


def judged(groups: Sequence[Group], relevant: int) -> tuple[Group, ...]:
    """The groups that an order can be judged by: anything in them is relevant, and not everything equally so."""
    return tuple(group for group in groups if (group.grades >= relevant).any() and np.ptp(group.grades) > 0)


def ordered_grades(group: Group, scores: Sequence[float] | NDArray[np.floating]) -> list[int]:
    """Grades in the order of the scores; equal ones stay as they were served."""
    grades: list[int] = group.grades[np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")].tolist()
    return grades


def measure(orders: Sequence[Sequence[int]], queries: Sequence[str], relevant: int) -> Measures:
    """Means over queries.

    Args:
        orders: For each request the grades of its results in order; at least one request.
        queries: The query of each.
        relevant: Grade from which a result is good.
    """

    def mean(values: Sequence[float]) -> float:
        return float(by_query(values, queries).mean())

    return Measures(
        ndcg_at_10=mean(ndcgs(orders)),
        precision_at_5=mean([precision_at(grades, FIRST, relevant) for grades in orders]),
        map=mean([average_precision(grades, relevant) for grades in orders]),
        mrr=mean([reciprocal_rank(grades, relevant) for grades in orders]),
    )


def by_query(values: Sequence[float], queries: Sequence[str]) -> NDArray[np.float64]:
    """The mean of each query's requests, by query."""
    _, which, counts = np.unique(queries, return_inverse=True, return_counts=True)
    return np.bincount(which, weights=values) / counts


def ndcgs(orders: Sequence[Sequence[int]]) -> list[float]:
    """NDCG@10 of each request."""
    return [ndcg_at(grades, DEPTH) for grades in orders]


def compare(
    one: Sequence[float], other: Sequence[float], queries: Sequence[str], draws: int, seed: int, least: int = 1
) -> Difference:
    """The difference of two orders on the same queries, with its interval.

    Args:
        one: A figure for each request.
        other: The same of the order it is held against.
        queries: The query of each request.
        draws: How often queries are drawn anew.
        seed: Of the draws.
        least: Different queries that a verdict takes.
    """
    differences = by_query(np.asarray(one) - np.asarray(other), queries)
    count = len(differences)
    generator = np.random.default_rng(seed)
    means = np.array([differences[generator.integers(0, count, count)].mean() for _ in range(draws)])
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(
        ndcg_at_10=float(differences.mean()), low=float(low), high=float(high), queries=count, least=least
    )
