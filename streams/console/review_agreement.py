"""How often editors agree with the decisions of each handler under each version of its rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from schemas.review import DecisionReviewed

_95_PERCENT = 1.959964


@dataclass(frozen=True, slots=True)
class Agreement:
    """The marks on decisions of a handler under one version of its rules; "" if their events name no version."""

    handler: str
    config_version: str
    right: int
    wrong: int

    @property
    def share(self) -> float:
        """The share of decisions that were marked right."""
        return self.right / (self.right + self.wrong)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share (Wilson), which is also valid for a few marks and for a share of 0 or 1."""
        z, n, p = _95_PERCENT, self.right + self.wrong, self.share
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        spread = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return min(p, max(0.0, centre - spread)), max(p, min(1.0, centre + spread))  # rounding must not exclude it


def newest_marks(reviews: Iterable[DecisionReviewed]) -> dict[str, DecisionReviewed]:
    """The mark of each decision: the newest that was not withdrawn; ``reviews`` are in the order of their records."""
    newest: dict[str, DecisionReviewed] = {}
    for review in reviews:
        at, before = review.reviewed_at, newest.get(review.decision.identity)
        # Without times, the order of the records decides.
        if before is None or before.reviewed_at is None or at is None or at >= before.reviewed_at:
            newest[review.decision.identity] = review
    return {identity: review for identity, review in newest.items() if not review.withdrawn}


def agreement(marks: Iterable[DecisionReviewed]) -> tuple[Agreement, ...]:
    """The agreement by handler and version; ``marks`` has one mark for each decision (``newest_marks``)."""
    counts = Counter((its.decision.handler, its.decision.config_version or "", its.right) for its in marks)
    groups = sorted({(handler, version) for handler, version, _ in counts})
    return tuple(
        Agreement(handler, version, counts[handler, version, True], counts[handler, version, False])
        for handler, version in groups
    )
