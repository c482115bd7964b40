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


def test_gc_is_paused_and_resumed() -> None:
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_gc_is_resumed_after_a_failed_start() -> None:
    with pytest.raises(ImportError, match="no such"), gc_paused():
        raise ImportError("no such module")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


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
