"""A world for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.simulation.world import World


@pytest.fixture
def world() -> Iterator[World]:
    """Nothing runs in it yet."""
    with closing(World()) as made:
        yield made
