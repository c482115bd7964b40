import random

import pytest

from tools.faults.drift import drift_of

HOURS = [number / 60 for number in range(45)]


def noisy(slope: float, noise: float) -> list[float]:
    chance = random.Random(1)
    return [100 + slope * hour + chance.gauss(0, noise) for hour in HOURS]


@pytest.mark.parametrize(
    ("slope", "noise", "verdict"),
    [(0, 1, "steady"), (50, 1, "GROWS"), (-50, 1, "steady"), (0, 200, "unclear"), (8, 0, "steady"), (12, 0, "GROWS")],
)
def test_growth_differs_from_noise(slope: float, noise: float, verdict: str) -> None:
    assert drift_of(HOURS, noisy(slope, noise), bound=10).verdict == verdict


def test_a_short_run_can_t_tell() -> None:
    assert drift_of(HOURS[:2], [1.0, 900.0], bound=10).verdict == "unclear"
