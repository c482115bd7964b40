import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from streams import settings_files
from streams.cli_commands import run_command_line
from streams.settings import load_settings
from tests.rules import CONFIG


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


def import_(file: Path, text: str, out: Path, *arguments: str) -> int:
    file.write_text(text, "utf-8")
    return run_command_line(["sources", "import", str(file), "--out", str(out), *arguments])


def entries(out: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(out.read_text("utf-8"))["sources"]["own"])


PRESS = {"kind": "newspaper", "reason": "ours"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'one.example,newspaper,ours\ntwo.example,3\n# a remark\n\nthree.example,tier 1,"a, b"\n'),
        ("a.csv", 'Domain,Tier,Kind,Reason\none.example,,newspaper,ours\ntwo.example,3\nthree.example,1,,"a, b"\n'),
        ("a.tsv", "one.example\tnewspaper\tours\ntwo.example\ttier_3\nthree.example\t1\ta, b\n"),
        ("a.txt", "one.example\tnewspaper\tours\ntwo.example\t3\t\nthree.example\t1\ta, b\n"),
        (
            "a.jsonl",
            '{"domain": "one.example", "kind": "newspaper", "reason": "ours"}\n{"domain": "two.example", "tier": 3}\n'
            '{"domain": "three.example", "tier": "1", "reason": "a, b"}\n',
        ),
    ],
    ids=["csv", "csv with names", "tsv", "tabs", "json lines"],
)
def test_each_form_gives_the_same_entries(tmp_path: Path, out: Path, name: str, text: str) -> None:
    assert import_(tmp_path / name, text, out) == 0
    assert entries(out) == {
        "one.example": PRESS,
        "two.example": {"tier": 3},
        "three.example": {"tier": 1, "reason": "a, b"},
    }


def test_assay_uses_the_file_as_an_overlay_and_in_its_own_configuration(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tier(overlay: Path | None = None) -> int:
        rules = load_settings(overlay).rules(ScorePageRules)
        return source_at("https://www.reuters.com/", None, "", rules.compiled.sources).tier

    assert import_(tmp_path / "a.txt", "reuters.com\n", out, "--tier", "3") == 0
    shown = capsys.readouterr().out
    assert "reuters.com: tier 2 becomes 3" in shown
    assert f"1 sources written to {out}: 1 new, 0 replaced, 0 unchanged" in shown
    assert f"--config {out}" in shown
    assert (tier(), tier(out)) == (2, 3)

    copy = tmp_path / "config"
    shutil.copytree(CONFIG, copy)
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(copy))
    assert run_command_line(["sources", "import", str(tmp_path / "a.txt"), "--kind", "journal"]) == 0
    assert f"Assay reads {copy / 'own_sources.yaml'}" in capsys.readouterr().out
    assert tier() == 1


def test_domains_are_written_as_hosts_are(tmp_path: Path, out: Path) -> None:
    text = "https://www.One.example/path?q\nwww.krakow.pl\nbücher.example\n.two.example.\nWWW.THREE.EXAMPLE\n"
    assert import_(tmp_path / "a.txt", text, out, "--kind", "newspaper") == 0
    assert set(entries(out)) == {
        "one.example",
        "www.krakow.pl",
        "xn--bcher-kva.example",
        "two.example",
        "three.example",
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("exa mple.org,2", "'exa mple.org' is not a domain"),
        ("localhost,2", "'localhost' is not a domain"),
        ("203.0.113.9,2", "'203.0.113.9' is not a domain"),
        (f"{'a' * 64}.example,2", "is not a domain"),
        (",2", "'' is not a domain"),
        ("a..example,2", "is not a domain"),
        ("a.example,gazette", "'gazette' is not a kind; there are government"),
        ("a.example", "has neither a kind nor a tier; --kind or --tier"),
        ("a.example,4", "'4' is not a kind"),
        ("co.uk,newspaper", "co.uk is a public suffix"),
        ("github.io,1", "github.io is a public suffix"),
        ("a.example,2,why,more", "4 columns"),
        ("one.example,3", "one.example is on line 1 already, with another entry"),
    ],
)
def test_a_line_that_can_not_be_used_is_named_and_nothing_is_written(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    file = tmp_path / "a.csv"
    assert import_(file, f"one.example,2\n\n{line}\n", out) == 1
    [told] = capsys.readouterr().err.splitlines()
    assert told.startswith(f"assay sources import: {file}:3: ")
    assert words in told
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("3", "not a JSON object"),
        ('{"domain": ["a.example"], "tier": 1}', "is not a domain"),
        ('{"domain": "a.example", "kind": ["newspaper"]}', "is not a kind"),
        ('{"domain": "a.example", "tier": true}', "True is not a tier"),
    ],
    ids=lambda value: value[:20],
)
def test_json_lines_of_any_shape_are_refused_with_their_number(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    assert import_(tmp_path / "a.jsonl", f'{{"domain": "one.example", "tier": 1}}\n{line}\n', out) == 1
    [told] = capsys.readouterr().err.splitlines()
    assert "a.jsonl:2: " in told
    assert words in told


def test_a_field_longer_than_csv_takes_is_named(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(tmp_path / "a.csv", f"one.example,1,{'x' * 200_000}\n", out) == 1
    assert "a.csv:1: field larger" in capsys.readouterr().err


def test_a_public_suffix_may_be_in_tier_3(tmp_path: Path, out: Path) -> None:
    assert import_(tmp_path / "a.csv", "github.io,3\nblogspot.com,self_publishing\n", out) == 0
    assert set(entries(out)) == {"github.io", "blogspot.com"}


def test_a_repeated_line_and_other_columns_are_told_and_do_not_stop_the_import(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "domain,kind,rank\none.example,newspaper,7\nwww.one.example,newspaper,8\n"
    assert import_(tmp_path / "a.csv", text, out) == 0
    left, repeated = capsys.readouterr().err.splitlines()
    assert left.endswith("a.csv:1: columns left out: rank")
    assert repeated.endswith("a.csv:3: one.example is on line 2 already")
    assert entries(out) == {"one.example": {"kind": "newspaper"}}


def test_a_second_import_adds_and_replaces(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(tmp_path / "a.csv", "one.example,1\ntwo.example,2\n", out) == 0
    capsys.readouterr()
    assert import_(tmp_path / "a.csv", "two.example,3\nthree.example,3\none.example,1\n", out, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["new"], told["replaced"], told["unchanged"], told["written"]) == (1, 1, 1, True)
    assert told["tiers_changed"] == [{"domain": "one.example", "from": 3, "to": 1}]
    assert entries(out) == {"one.example": {"tier": 1}, "two.example": {"tier": 3}, "three.example": {"tier": 3}}


def test_many_changed_tiers_are_counted(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(tmp_path / "a.txt", "".join(f"s{n}.example\n" for n in range(25)), out, "--tier", "2") == 0
    shown = capsys.readouterr().out
    assert shown.count("becomes") == 20
    assert "and 5 more with another tier" in shown


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_(tmp_path / "a.csv", "one.example,1\n", out, "--dry-run") == 0
    assert f"1 sources would be written to {out}: 1 new" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.parametrize("text", ["kafka: {}\nsources: {own: {}}", "sources: {own: {}, kinds: {}}", "sources: 3"])
def test_a_file_with_other_keys_is_left_alone(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    out.write_text(text, "utf-8")
    assert import_(tmp_path / "a.csv", "one.example,1\n", out) == 2
    [told] = capsys.readouterr().err.splitlines()
    assert "other keys than sources.own" in told
    assert out.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("content", "words"), [(b"", "no entries"), (b"# none\n", "no entries"), (b"\xff\xfe,1", "not UTF-8")]
)
def test_a_file_without_entries_is_refused(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert run_command_line(["sources", "import", str(tmp_path / "a.csv"), "--out", str(out)]) == 1
    [told] = capsys.readouterr().err.splitlines()
    assert words in told


def test_the_configuration_within_an_installed_package_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ASSAY_CONFIG_DIR", raising=False)
    shutil.copytree(CONFIG, tmp_path / "streams" / "_config")
    monkeypatch.setattr(settings_files, "__file__", str(tmp_path / "streams" / "settings_files.py"))
    (tmp_path / "a.csv").write_text("one.example,1\n", "utf-8")
    assert run_command_line(["sources", "import", str(tmp_path / "a.csv")]) == 2
    [told] = capsys.readouterr().err.splitlines()
    assert "'--out'" in told
