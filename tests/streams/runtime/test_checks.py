from pathlib import Path

import pytest

from streams.runtime.checks import check_folder


def test_folders_are_looked_at_without_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "not" / "yet"
    assert check_folder("cache", folder, "NAME").state == "ok"
    assert not folder.parent.exists()
    (tmp_path / "file").write_text("")
    blocked = check_folder("cache", tmp_path / "file" / "sub", "NAME")
    assert (blocked.state, blocked.todo) == ("fail", "name another place with NAME")
    assert "can't be written: Not a directory" in blocked.detail
    nowhere = check_folder("cache", Path("/proc/nowhere/index"), "NAME")
    assert (nowhere.state, nowhere.detail.partition("can't be written: ")[0]) == ("fail", "/proc/nowhere/index ")
    monkeypatch.setattr("streams.runtime.checks.FREE_BYTES", 2**80)
    assert check_folder("cache", folder, "NAME").state == "warn"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("/proc/sys/kernel/ostype")
    found = check_folder("index", tmp_path, "NAME", [tmp_path, tmp_path / "file"])
    assert found.state == "fail"
    assert found.detail.startswith(f"{tmp_path} can't be written: ")
    assert found.detail.endswith(f" ({tmp_path / 'file'})")
