"""``assay demo`` before it starts."""

import shutil
from types import SimpleNamespace
from typing import Any

import pytest

from streams.cli.demo import run_demo
from streams.settings.model import load_settings


def test_full_disk_is_reported_before_kafka_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def usage(_: Any) -> Any:
        return SimpleNamespace(free=2**20)

    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert run_demo(load_settings(), once=True, as_json=True) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "has 1 MiB free" in err
    assert "TMPDIR" in err
    assert len(err.splitlines()) == 1
