import json
from pathlib import Path
from typing import Any

import pytest

from streams.cli.config import config


def shown(capsys: pytest.CaptureFixture[str], overlay: Path | None = None) -> dict[str, Any]:
    assert config("show", as_json=True, config=overlay) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_each_key_has_a_value_and_an_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("kafka: {replication_factor: 3}\nextraction: {hop_limit: 2}\n")
    monkeypatch.setenv("ASSAY_KAFKA__TOPIC_PREFIX", "blue.")
    monkeypatch.setenv("ASSAY_KAFKA__REPLICATION_FACTOR", "2")
    monkeypatch.setenv("ASSAY_FETCH__RESOLVE", '{"a.example": "127.0.0.1:80"}')
    keys = shown(capsys, overlay)
    assert keys["kafka.topic_prefix"] == {"value": "blue.", "from": "environment ASSAY_KAFKA__TOPIC_PREFIX"}
    assert keys["kafka.replication_factor"] == {"value": 3, "from": str(overlay)}
    assert keys["extraction.hop_limit"] == {"value": 2, "from": str(overlay)}
    assert keys["fetch.resolve.a.example"]["from"] == "environment ASSAY_FETCH__RESOLVE"
    assert keys["kafka.security_protocol"] == {"value": "PLAINTEXT", "from": "default"}
    assert keys["extraction.max_details"]["from"].endswith("assay.yaml")
    assert keys["source_tiers.tier_3"]["from"].endswith("config_indexing.yaml")
    assert any(key["from"].endswith("patterns/en.yaml") for key in keys.values())
