"""``assay sources``: how addresses are decided, and the import of own sources."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from streams.cli.commands import run_command_line
from streams.runtime import settings_files
from streams.settings.model import load_settings
from tests.command_line import Done, Ran
from tests.rules import CONFIG
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@pytest.fixture
def import_(ran: Ran, tmp_path: Path, out: Path) -> Ran:
    """``import_("a.csv", text, …)``: imports a file with this text."""

    def call(name: str, text: str, *arguments: str) -> Done:
        (tmp_path / name).write_text(text, "utf-8")
        return ran(run_command_line, ["sources", "import", str(tmp_path / name), "--output", str(out), *arguments])

    return call


def entries(out: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(out.read_text("utf-8"))["sources"]["own"])


PRESS = {"kind": "newspaper", "reason": "ours"}


@pytest.mark.parametrize(
    ("name", "text"),
    TABLES["each_form_gives_the_same_entries"],
    ids=["csv", "csv with names", "tsv", "tabs", "json lines"],
)
def test_each_form_gives_the_same_entries(import_: Ran, out: Path, name: str, text: str) -> None:
    assert import_(name, text).status == 0
    assert entries(out) == {
        "one.example": PRESS,
        "two.example": {"tier": 3},
        "three.example": {"tier": 1, "reason": "a, b"},
    }


def test_assay_reads_the_imported_file_as_overlay_or_config(
    import_: Ran, ran: Ran, tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tier(overlay: Path | None = None) -> int:
        rules = load_settings(overlay).rules(ScorePageRules)
        return source_at("https://www.reuters.com/", None, "", rules.compiled_sources).tier

    shown = import_("a.txt", "reuters.com\n", "--tier", "3").out
    assert "reuters.com: tier 2 becomes 3" in shown
    assert f"1 sources written to {out}: 1 new, 0 replaced, 0 unchanged" in shown
    assert f"--config {out}" in shown
    assert (tier(), tier(out)) == (2, 3)
    copy = tmp_path / "config"
    shutil.copytree(CONFIG, copy)
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(copy))
    done = ran(run_command_line, ["sources", "import", str(tmp_path / "a.txt"), "--kind", "journal"])
    assert (done.status, f"Assay reads {copy / 'own_sources.yaml'}" in done.out) == (0, True)
    assert tier() == 1


@pytest.mark.parametrize(("line", "words"), TABLES["unusable_line_is_named_and_nothing_is_written"])
def test_unusable_line_is_named_and_nothing_is_written(
    import_: Ran, tmp_path: Path, out: Path, line: str, words: str
) -> None:
    done = import_("a.csv", f"one.example,2\n\n{line}\n")
    assert (done.status, words in done.complaint) == (1, True)
    assert done.err.startswith(f"assay sources import: {tmp_path / 'a.csv'}:3: ")
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        *TABLES["json_lines_of_any_shape_are_refused_with_their_number"],
        ("[" * 100_000, "not JSON"),
    ],
    ids=lambda value: value[:20],
)
def test_json_lines_of_any_shape_are_refused_with_their_number(import_: Ran, line: str, words: str) -> None:
    done = import_("a.jsonl", f'{{"domain": "one.example", "tier": 1}}\n{line}\n')
    assert (done.status, "a.jsonl:2: " in done.complaint, words in done.err) == (1, True, True)


@pytest.mark.parametrize("text", ["kafka: {}\nsources: {own: {}}", "sources: {own: {}, kinds: {}}", "sources: 3"])
def test_file_with_other_keys_is_not_changed(import_: Ran, out: Path, text: str) -> None:
    out.write_text(text, "utf-8")
    done = import_("a.csv", "one.example,1\n")
    assert (done.status, "other keys than sources.own" in done.complaint) == (2, True)
    assert out.read_text("utf-8") == text


def test_configuration_of_an_installed_package_is_not_written(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_CONFIG_DIR", raising=False)
    shutil.copytree(CONFIG, tmp_path / "config")
    (tmp_path / "__main__.py").touch()
    monkeypatch.setattr(settings_files, "__file__", str(tmp_path / "streams" / "runtime" / "settings_files.py"))
    (tmp_path / "a.csv").write_text("one.example,1\n", "utf-8")
    done = ran(run_command_line, ["sources", "import", str(tmp_path / "a.csv")])
    assert (done.status, "'--output'" in done.complaint) == (2, True)
