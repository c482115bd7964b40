"""Whether something grows over a long run: a line through its values, and a bound for its slope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression, pstdev


@dataclass(frozen=True, slots=True)
class Drift:
    """A line through the values of a run.

    Attributes:
        mean: Of the values.
        slope: Per hour.
        error: The standard error of the slope.
        bound: The largest slope that is allowed.
    """

    mean: float
    slope: float
    error: float
    bound: float

    @property
    def grows(self) -> bool:
        """Whether the slope is above its bound by more than chance explains."""
        return self.slope - 2 * self.error > self.bound

    @property
    def verdict(self) -> str:
        """In a word; too noisy or too short a run can't tell."""
        if self.grows:
            return "GROWS"
        return "steady" if self.slope + 2 * self.error <= self.bound else "unclear"


def drift_of(hours: Sequence[float], values: Sequence[float], bound: float) -> Drift:
    """The line of least squares through values at these moments.

    >>> drift_of([0, 1, 2, 3], [5, 7, 9, 11], bound=1).verdict
    'GROWS'
    """
    mean, count = fmean(values), len(values)
    if count < 3 or len(set(hours)) == 1:
        return Drift(mean, 0.0, math.inf, bound)
    slope, start = linear_regression(hours, values)
    left = sum((value - start - slope * hour) ** 2 for hour, value in zip(hours, values, strict=True))
    return Drift(mean, slope, math.sqrt(left / (count - 2) / count) / pstdev(hours), bound)
