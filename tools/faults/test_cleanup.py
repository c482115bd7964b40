import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.brokers import DISK_OF, _locked, _mounts, may_mount, remove_leftovers
from tools.faults.cluster import run_with_cleanup


def test_sigterm_lets_the_run_clean_up() -> None:
    cleaned: list[str] = []

    async def work() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(cleaned.append, "disk")
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)

    with pytest.raises(SystemExit, match="1"):
        run_with_cleanup(work())
    assert cleaned == ["disk"]


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    left, used = tmp_path / "assay-brokers-left", tmp_path / "assay-brokers-used"
    for folder in (left, used):
        (folder / f"broker-{DISK_OF}").mkdir(parents=True)
        (folder / "lock").touch()
    if may_mount():
        assert _mounts(left / f"broker-{DISK_OF}")
    with _locked(used):
        assert remove_leftovers(tmp_path) == [left]
    assert not left.exists()
    assert used.exists()
