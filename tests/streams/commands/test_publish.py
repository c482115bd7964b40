from __future__ import annotations

from pathlib import Path

import pytest

from streams.commands.publish import run_publish
from streams.settings import Settings, load_settings


@pytest.fixture
def nowhere() -> Settings:
    return load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("topic", "name", "rate", "says"),
    [
        ("nope.v1", "pages.jsonl", None, "there is no topic 'nope.v1'; there are pages.crawled.v1, "),
        ("pages.crawled.v1", "absent", None, "No such file"),
        ("pages.crawled.v1", "pages.jsonl", 0.0, "--rate takes a number above 0, not 0"),
        ("pages.crawled.v1", "pages.jsonl", float("nan"), "--rate"),
        ("retrieval.batches.v1", ".", None, "does not take pages"),
    ],
)
def test_wrong_usage_is_told_before_kafka_is_asked(
    nowhere: Settings,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    topic: str,
    name: str,
    rate: float | None,
    says: str,
) -> None:
    (tmp_path / "pages.jsonl").write_text("")
    assert run_publish(topic, [tmp_path / name], nowhere, as_json=False, rate=rate) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert len(err.splitlines()) == 1


def test_no_kafka_is_one_line(nowhere: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pages.jsonl").write_text("")
    assert run_publish("pages.crawled.v1", [tmp_path / "pages.jsonl"], nowhere, as_json=False) == 1
    assert capsys.readouterr().err == (
        "assay publish: no Kafka at 127.0.0.1:1; start one with `assay broker`, or set ASSAY_KAFKA__BOOTSTRAP_SERVERS\n"
    )
