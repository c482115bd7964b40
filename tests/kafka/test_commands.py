"""Publish, run and tail against a real Kafka."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from streams.cli.publish import Publication, run_publish
from streams.cli.run import run
from streams.settings.model import Settings
from streams.topology import PAGES_CRAWLED
from tests.kafka.installation import command, environment_of, install


def tailed(settings: Settings, capfd: pytest.CaptureFixture[str], topic: str) -> list[Any]:
    words = ("tail", topic, "--from", "earliest", "--no-follow", "--json")
    status, out, _ = asyncio.run(command(settings, capfd, *words))
    assert status == 0
    return [json.loads(line) for line in out.splitlines()]


def test_pages_flow_from_a_folder_through_a_handler_to_tail(
    kafka: str, topic_prefix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first command creates the topics."""
    monkeypatch.delenv("ASSAY_KAFKA__CREATE_TOPICS")
    settings = install(kafka, topic_prefix)
    (tmp_path / "pages").mkdir()
    for number in range(4):
        html = f"<title>Page {number}</title><p>Some text about page {number}.</p>"
        (tmp_path / f"pages/{number}.html.gz").write_bytes(gzip.compress(html.encode()))
    cases: list[dict[str, Any]] = [{"id": n, "file": f"pages/{n}.html.gz"} for n in range(4)]
    cases[0]["url"] = "https://site.example/zero"
    cases += [{"id": "out", "file": "../secret.html"}, {"id": "none", "file": "pages/none.html.gz"}, {"id": "x"}]
    (tmp_path / "cases.jsonl").write_text("\n".join(json.dumps(case) for case in cases))
    assert run_publish(settings, Publication(topic=PAGES_CRAWLED, paths=[tmp_path], as_json=True)) == 1
    out, err = capfd.readouterr()
    assert json.loads(out.splitlines()[-1])["published"] == 4
    assert json.loads(out.splitlines()[-1])["refused"] == 3
    assert "outside of the folder" in err
    for name, value in environment_of(settings).items():
        monkeypatch.setenv(name, value)
    assert run(["score_page"], drain=True, as_json=True) == 0
    out, err = capfd.readouterr()
    drained = json.loads(out.splitlines()[-1])
    assert drained["caught_up"] is True
    assert drained["summary"]["score_page"]["in"] == sum(drained["summary"]["score_page"]["tiers"].values()) == 4
    assert "assay run: score_page 4 in: 4 done (A 0, B 0, C 4)" in err
    scored = {record["key"]: record["value"]["title"] for record in tailed(settings, capfd, "pages.scored.v1")}
    assert scored == {
        "https://site.example/zero": "Page 0",
        **{f"https://case.invalid/{number}": f"Page {number}" for number in (1, 2, 3)},
    }
