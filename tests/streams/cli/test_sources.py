import json
from pathlib import Path
from typing import Any

import pytest

from streams.cli.commands import run_command_line
from tests.tables import tables

TABLES = tables(__file__)


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run_command_line(["sources", "check", *arguments, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_each_address_has_a_line_with_the_entry_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    wire, office, member, unknown = check(
        capsys, "https://www.reuters.com/world/", "www.gov.uk", "https://people.cs.ox.ac.uk/joe", "nothing.example"
    )
    assert (wire["tier"], wire["kind"], wire["entry"], wire["base_score"]) == (2, "news_agency", "reuters.com", 25)
    assert (wire["name"], wire["country"], wire["tags"], wire["own"]) == ("Reuters", "int", ["news"], False)
    assert (office["url"], office["tier"], office["entry"]) == ("https://www.gov.uk", 1, "gov.*")
    assert (member["tier"], member["kind"]) == (3, "self_publishing")
    assert "people." in member["because"]
    assert (unknown["tier"], unknown["kind"], unknown["entry"], unknown["reason"]) == (3, None, None, "")
    assert "explain" not in wire


def test_explain_shows_each_suffix_and_what_a_page_can_reach(capsys: pytest.CaptureFixture[str]) -> None:
    [told] = check(capsys, "https://www.cdc.gov.tw/", "--explain")
    assert told["explain"]["registered_domain"] == "cdc.gov.tw"
    assert told["explain"]["tried"] == list(TABLES["explain_shows_each_suffix_and_what_a_page_can_reach"])
    assert told["own"] is True
    assert (told["explain"]["highest_score"], told["explain"]["highest_label"]) == (100, "HIGH")


def test_people_get_a_table_and_with_explain_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["sources", "check", "ethz.ch", "nothing.example", "udn.com"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "https://ethz.ch 1 university ethz.ch ETH Zürich: an institution of research" in shown
    assert "https://nothing.example 3 - - nothing.example is not listed" in shown
    assert "https://udn.com 2 newspaper udn.com United Daily News 聯合報: a newsroom" in shown
    assert run_command_line(["sources", "check", "www.gov.uk", "localhost", "--explain"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "gov.uk - - gov.* (government)" in shown
    assert "score 40 base points, 100 at most: HIGH" in shown
    assert "registered none" in shown


def test_a_publisher_and_an_own_entry_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("sources: {own: {nothing.example: {kind: newspaper, reason: 'read by us'}}}", "utf-8")
    [own] = check(capsys, "https://news.nothing.example/", "--config", str(overlay))
    [named] = check(capsys, "https://nothing.example/", "--publisher", "科技部")
    assert (own["tier"], own["own"], own["reason"]) == (2, True, "read by us")
    assert (named["tier"], named["entry"], named["own"]) == (1, "科技部", True)
