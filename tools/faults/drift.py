"""Whether something grows over a long run: a line through its values, and a bound for its slope."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


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
    mean, middle, count = fmean(values), fmean(hours), len(values)
    spread = sum((hour - middle) ** 2 for hour in hours)
    if count < 3 or spread == 0:
        return Drift(mean, 0.0, math.inf, bound)
    slope = sum((hour - middle) * (value - mean) for hour, value in zip(hours, values, strict=True)) / spread
    left = sum((value - mean - slope * (hour - middle)) ** 2 for hour, value in zip(hours, values, strict=True))
    return Drift(mean, slope, math.sqrt(left / (count - 2) / spread), bound)
