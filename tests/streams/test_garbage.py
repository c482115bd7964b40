import gc

import pytest

from streams.garbage import collector_at_rest


def test_the_collector_rests_and_then_leaves_out_what_came_meanwhile() -> None:
    try:
        with collector_at_rest():
            assert not gc.isenabled()
            kept: list[list[int]] = [[] for _ in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= len(kept)
    finally:
        gc.unfreeze()


def test_it_looks_again_after_a_start_that_failed() -> None:
    try:
        with pytest.raises(ImportError, match="no such"), collector_at_rest():
            raise ImportError("no such module")
        assert gc.isenabled()
    finally:
        gc.unfreeze()
