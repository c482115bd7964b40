import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from streams.cli.doctor import doctor
from streams.doctor.examination import check_packages
from streams.local_kafka.install import BrokerUnavailable
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ASSAY_HTTP__PORT", "0")


def no_java() -> str:
    raise BrokerUnavailable("no Java was found")


def test_a_machine_that_has_everything_is_well(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.settings.model.LOCAL_KAFKA", "127.0.0.1:1")
    assert doctor(as_json=True) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["well"] is True
    states = {finding["what"]: finding["state"] for finding in answer["findings"]}
    assert states.pop("packages") in ("ok", "warn")
    # In a cache of its own there is nothing yet.
    assert states.pop("local Kafka") == "warn"
    assert states.pop("Kafka") == "warn", "none runs at the default address"
    assert set(states.values()) == {"ok"}


def test_people_see_a_mark_and_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("streams.local_kafka.checks.find_java", no_java)
    assert doctor() == 1
    out = capsys.readouterr().out
    assert "✓ Python" in out
    assert "✗ Java          no Java was found" in out
    assert "the first start fetches it" in out


@pytest.mark.parametrize(("required", "has", "state", "detail"), TABLES["packages_are_looked_at"])
def test_packages_are_looked_at(
    required: tuple[str, ...], has: str, state: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: required)
    monkeypatch.setattr(metadata, "version", lambda _: has)
    finding = check_packages()
    assert finding.state == state
    assert detail in finding.detail
