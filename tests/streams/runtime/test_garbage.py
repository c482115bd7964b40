import gc
import weakref
from collections.abc import Iterator

import pytest

from streams.runtime.process import freeze_gc, gc_paused


class Knot:
    """Holds itself, so only the collector lets go of it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("before", [True, False])
def test_gc_is_as_before_after_a_failed_start(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    with pytest.raises(ZeroDivisionError), gc_paused():
        1 / (0 if not gc.isenabled() else 1)
    assert gc.isenabled() is before


def test_what_became_garbage_before_or_meanwhile_still_goes() -> None:
    before = weakref.ref(Knot())
    with gc_paused():
        meanwhile = weakref.ref(Knot())
    gc.collect()
    assert (before(), meanwhile()) == (None, None)


def test_frozen_objects_are_not_collected() -> None:
    with gc_paused():
        knot, kept = weakref.ref(Knot()), Knot()
    before = gc.get_freeze_count()
    freeze_gc()
    assert knot() is None
    assert kept.itself is kept
    assert gc.get_freeze_count() > before
