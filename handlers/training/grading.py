"""Grades of what was served, and the queries that a model must never see.

In: requests as they were served, with what was done. Out: for each a group of rows to train on or to be judged by:
features, grades, the order as served. All requests of one query are on the same side (``is_held_out``), for the same
question asked twice would give its answer away.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from handlers.training.joining import ServedRequest, Signals
from handlers.training.sections import GradeSection


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The results of one request that were seen, as they were served.

    Attributes:
        query: Normalised; groups of the same query are on the same side of the split.
        ranks: As served, ascending.
        features: A row for each.
        grades: 0 to 4 for each.
    """

    query: str
    ranks: NDArray[np.int64]
    features: NDArray[np.float32]
    grades: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Split:
    """What is trained on, and what is held out to judge by."""

    trained: tuple[Group, ...]
    held_out: tuple[Group, ...]


def split_groups(requests: Iterable[ServedRequest], section: GradeSection, held_out: float) -> Split:
    """Grades every request and puts it on its side.

    Args:
        requests: As served.
        section: How acts become grades.
        held_out: Share of the queries to hold out.
    """
    groups = [group_of(request, section) for request in requests]
    apart = [is_held_out(group.query, held_out) for group in groups]
    return Split(
        tuple(group for group, held in zip(groups, apart, strict=True) if not held),
        tuple(group for group, held in zip(groups, apart, strict=True) if held),
    )


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
    """What somebody gave, else what the stay is worth, else the click; 0 where a result was seen and left alone."""
    if signals is None:
        return 0
    if signals.grade is not None:
        return signals.grade
    opened = signals.clicked or bool(signals.dwell_ms)
    lengths = [band.grade for band in section.dwell if (signals.dwell_ms or 0) >= 1000 * band.seconds]
    return lengths[-1] if signals.dwell_ms and lengths else section.click if opened else 0


def is_held_out(query: str, share: float) -> bool:
    """Whether a normalised query is held out. It is for every model ever trained with this share, whatever the data.

    So a model that is in force can be compared with one that is new, on queries that neither of them has seen.
    """
    return int.from_bytes(sha256(query.encode("utf-8", "replace")).digest()[:8], "big") < share * 2**64


def normalized(query: str) -> str:
    """A query without what does not make it another: case, width, spaces, punctuation around and between words.

    >>> normalized("  Climate   CHANGE? ") == normalized("climate change")
    True
    """
    text = unicodedata.normalize("NFKC", query).casefold()
    words = "".join(c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in text).split()
    return " ".join(words) or text.strip()
