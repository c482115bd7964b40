"""``assay init``: the written configuration is valid, has the user's sources, and overwrites nothing."""

import sys
from pathlib import Path

import pytest

from streams.settings.model import load_settings
from tests.samples import run_assay


def test_every_line_of_the_file_that_is_commented_out_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    assert run_assay("init", "--country", "dk", "--output", str(file)) == 0
    lines = file.read_text("utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("# tiered_indexing"))
    settings = [line.removeprefix("# ") for line in lines[begin:] if line.startswith(("#   ", "# ")) and ":" in line]
    yaml = "\n".join(line for line in settings if line.startswith(" ") or line.endswith(":"))
    other = tmp_path / "all.yaml"
    other.write_text(yaml, "utf-8")
    assert load_settings(other).llm.model == "MODEL"


def test_a_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["jp", "asahi.com=2", "wrong", ""])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    file = tmp_path / "own.yaml"
    assert run_assay("init", "--output", str(file)) == 0
    tiers = load_settings(file).source_tiers
    assert "go.jp" in tiers.tier_1
    assert tiers.tier_2 == ("asahi.com",)


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(path: Path, text: str, _: str) -> None:
        path.write_bytes(text[:10].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write)
    assert run_assay("init", "--country", "dk", "--output", str(tmp_path / "own.yaml")) == 1
    assert list(tmp_path.iterdir()) == []
