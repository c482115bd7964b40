import json
import socket
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from streams.cli.doctor import run_doctor
from streams.doctor import examination as doctor
from streams.doctor import services as doctor_services
from streams.fetch.settings import FetchSettings
from streams.local_kafka.install import BrokerUnavailable
from streams.settings.model import HttpSettings, Settings, load_settings
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path))
    return load_settings(http={"port": 0})


def no_java() -> str:
    raise BrokerUnavailable("no Java was found")


def test_a_machine_that_has_everything_is_well(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.settings.model.LOCAL_KAFKA", "127.0.0.1:1")
    assert run_doctor(settings, as_json=True) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["well"] is True
    states = {finding["what"]: finding["state"] for finding in answer["findings"]}
    assert states.pop("packages") in ("ok", "warn")
    # In a cache of its own there is nothing yet.
    assert states.pop("local Kafka") == "warn"
    assert states.pop("Kafka") == "warn", "none runs at the default address"
    assert set(states.values()) == {"ok"}


def test_people_see_a_mark_and_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "find_java", no_java)
    assert run_doctor(settings, as_json=False) == 1
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
    finding = doctor.check_packages()
    assert finding.state == state
    assert detail in finding.detail


def test_occupied_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert doctor.check_port(HttpSettings(port=port)).state == "warn"
        # The port is the default and not configured: the server would use another one.
        unnamed = HttpSettings.model_construct(_fields_set=set(), enabled=True, host="127.0.0.1", port=port)
        assert doctor.check_port(unnamed).state == "ok"
    assert doctor.check_port(HttpSettings(port=0)).state == "ok"
    assert doctor.check_port(HttpSettings(enabled=False)).detail == "off"
    assert doctor.check_port(HttpSettings(host="192.0.2.1", port=0)).state == "fail"


def test_folders_are_looked_at_without_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "not" / "yet"
    assert doctor_services.check_folder("cache", folder, "NAME").state == "ok"
    assert not folder.parent.exists()
    (tmp_path / "file").write_text("")
    blocked = doctor_services.check_folder("cache", tmp_path / "file" / "sub", "NAME")
    assert (blocked.state, blocked.todo) == ("fail", "name another place with NAME")
    assert "can't be written: Not a directory" in blocked.detail
    nowhere = doctor_services.check_folder("cache", Path("/proc/nowhere/index"), "NAME")
    assert (nowhere.state, nowhere.detail.partition("can't be written: ")[0]) == ("fail", "/proc/nowhere/index ")
    monkeypatch.setattr(doctor_services, "FREE_BYTES", 2**80)
    assert doctor_services.check_folder("cache", folder, "NAME").state == "warn"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("/proc/sys/kernel/ostype")
    found = doctor_services.check_folder("index", tmp_path, "NAME", [tmp_path, tmp_path / "file"])
    assert found.state == "fail"
    assert found.detail.startswith(f"{tmp_path} can't be written: ")
    assert found.detail.endswith(f" ({tmp_path / 'file'})")


def test_relaxed_fetch_rules_are_reported(tmp_path: Path) -> None:
    fetch = FetchSettings(
        allow_private=True,
        robots=False,
        resolve={"wiki.intranet.example": "10.1.2.3:80"},
        cache_path=tmp_path / "pages.sqlite",
    )
    found = list(doctor_services.check_fetching(fetch))
    assert [finding.state for finding in found] == ["warn", "warn", "ok", "ok", "ok"]
    assert "wiki.intranet.example is reached at 10.1.2.3:80" in found[3].detail
    named = list(doctor_services.check_fetching(FetchSettings(user_agent="HarbourBot/1.0", cache_path=None)))
    assert [finding.state for finding in named] == ["ok", "warn"]
    assert not named[0].todo
