import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from streams.cli.commands import run_command_line
from streams.cli.generate import run_generate
from streams.generate import outputs
from streams.generate.asyncapi import asyncapi
from streams.generate.examples import FOLDER, examples
from streams.generate.json_schemas import LIST, RELEASED, goldens, incompatible, json_schemas, lost, release
from streams.generate.monitoring import grafana, prometheus
from streams.generate.outputs import drift, generate
from streams.generate.pages import plain_text
from streams.runtime.settings_files import read_document
from streams.topology import PAGES_CRAWLED, PAGES_SCORED, TOPICS
from tests.samples import ROOT

OF_THE_CODE = {its.__name__: cache(its) for its in (asyncapi, grafana, json_schemas)}
"""Parts of ``generate`` without arguments, which make the same each time."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The part of a checkout that the rest is generated from."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "pyproject.toml").touch()
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.rmtree(folder / "config/generated")
    shutil.copytree(ROOT / "schemas", folder / "schemas", ignore=shutil.ignore_patterns("*.py", "__pycache__", "json"))
    return folder


@pytest.fixture(scope="module")
def generated(inputs: Path) -> dict[Path, str]:
    return generate(inputs)


@pytest.fixture
def checkout(inputs: Path, generated: dict[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which neither the handlers write the examples again, nor the code what depends on it alone."""
    written = {path: text for path, text in generated.items() if path.is_relative_to(FOLDER)}
    monkeypatch.setattr(outputs, "examples", lambda *_: written)
    for name, part in OF_THE_CODE.items():
        monkeypatch.setattr(outputs, name, part)
    folder = Path(shutil.copytree(inputs, tmp_path / "checkout"))
    for path, text in generated.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def test_the_committed_files_are_those_that_are_generated(generated: dict[Path, str]) -> None:
    assert drift(ROOT, generated) == {}


def test_an_unreadable_input_is_an_error(checkout: Path) -> None:
    (checkout / FOLDER / "claims.extracted.v1" / "minimal.json").write_text("{}")
    with pytest.raises(ValueError, match=r"claims\.extracted\.v1/minimal\.json: .*claim_id"):
        examples(checkout, read_document(checkout / "config"))


def test_generated_files_are_up_to_date(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A variable that names the folder of the checkout changes nothing.
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(checkout / "config"))
    assert run_generate(check=True, as_json=False, root=checkout) == 0
    assert "up to date" in capsys.readouterr().out


def test_a_change_on_either_side_is_found(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = checkout / "config/generated/prometheus/alerts.yml"
    rules.write_text(rules.read_text("utf-8").replace("0.99", "0.5"), "utf-8")
    for missing in ("docs/topology.md", "schemas/examples/pages.scored.v1/minimal.json"):
        (checkout / missing).unlink()
    (checkout / "schemas/json/pages.forgotten.v1.schema.json").write_text("{}", "utf-8")
    assert run_generate(check=True, as_json=True, root=checkout) == 1
    assert json.loads(capsys.readouterr().out) == {
        "drifted": ["config/generated/prometheus/alerts.yml"],
        "missing": ["docs/topology.md", "schemas/examples/pages.scored.v1/minimal.json"],
        "stale": ["schemas/json/pages.forgotten.v1.schema.json"],
        "lost": [],
        "incompatible": [],
    }
    (checkout / "docs/topology.md").write_text("mine", "utf-8")
    assert run_generate(check=True, as_json=False, root=checkout) == 1
    assert "drifted: config/generated/prometheus/alerts.yml" in capsys.readouterr().out
    assert (checkout / "docs/topology.md").read_text("utf-8") == "mine", "checking writes nothing"
    assert run_generate(check=False, as_json=False, root=checkout) == 0
    assert not drift(checkout)


def test_without_a_checkout_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_generate(check=False, as_json=False, root=tmp_path) == 2
    assert "checkout" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("ASSAY_ALERTS__NOT_RUN", '["index_page"]'), ("ASSAY_ALERTS", "{}"), ("ASSAY_CONFIG_DIR", "/elsewhere")],
)
def test_what_would_not_be_in_the_files_is_not_passed_over(
    name: str, value: str, checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    for check in (True, False):
        assert run_generate(check=check, as_json=False, root=checkout) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith(f"assay generate: {name} would not be in the checkout's files")
        assert "`assay generate --prometheus FOLDER`" in told.err


def test_invalid_threshold_is_reported_in_one_line(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = checkout / "config/assay.yaml"
    shipped.write_text(shipped.read_text("utf-8") + "alerts:\n  tier_shift: 2\n", "utf-8")
    assert run_generate(check=True, as_json=False, root=checkout) == 1
    assert "tier_shift: Input should be less than 1" in capsys.readouterr().err


def test_prometheus_files_are_written_for_the_settings_in_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = {path.name: (ROOT / path).read_text("utf-8") for path in prometheus(read_document(ROOT / "config"))}
    plain, own = tmp_path / "plain", tmp_path / "of/one's own"
    assert run_command_line(["generate", "--prometheus", str(plain), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert {Path(path).name: Path(path).read_text("utf-8") for path in written} == shipped
    monkeypatch.setenv("ASSAY_ALERTS__NOT_RUN", '["index_page"]')
    overlay = tmp_path / "own.yaml"
    overlay.write_text("alerts:\n  stalled_seconds: 123\n", "utf-8")
    assert run_command_line(["generate", "--prometheus", str(own), "--config", str(overlay)]) == 0
    alerts = (own / "alerts.yml").read_text("utf-8")
    assert "> 123" in alerts
    assert alerts.count("index_page") != shipped["alerts.yml"].count("index_page")
    (tmp_path / "file").touch()
    assert run_command_line(["generate", "--prometheus", str(tmp_path / "file")]) == 1
    assert run_command_line(["generate", "--prometheus", str(own), "--check"]) == 2
    assert run_command_line(["generate", "--config", str(overlay)]) == 2


def test_the_graph_is_printed_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["generate", "--graph"]) == 0
    assert capsys.readouterr().out == plain_text() + "\n"


def test_an_example_can_not_be_removed_or_edited_in_silence(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = checkout / "schemas/examples/pages.crawled.v1/minimal.json"
    edited = checkout / "schemas/examples/pages.crawled.v1/calendar_item.json"
    gone.unlink()
    edited.write_text(edited.read_text() + " ")
    for check in (False, True):
        capsys.readouterr()
        assert run_generate(check=check, as_json=False, root=checkout) == 1
        err = capsys.readouterr().err
        assert "schemas/examples/pages.crawled.v1/minimal.json is gone" in err
        assert "schemas/examples/pages.crawled.v1/calendar_item.json has been edited" in err


def test_a_new_example_is_listed_and_from_then_on_kept(checkout: Path) -> None:
    new = checkout / "schemas/examples/pages.crawled.v1/odd.json"
    new.write_text('{"url": "u", "html": ""}')
    assert run_generate(check=True, as_json=True, root=checkout) == 1
    assert run_generate(check=False, as_json=True, root=checkout) == 0
    new.unlink()
    [gone] = lost(checkout)
    assert gone.startswith("schemas/examples/pages.crawled.v1/odd.json is gone; released schemas")
    assert goldens(checkout)[LIST] == (checkout / LIST).read_text()


def test_every_earlier_version_counts_not_only_the_last(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 2 dropped a bound that version 1 had not; today's has it: only version 1's records would be refused."""
    folder = checkout / RELEASED / PAGES_CRAWLED.name
    [path] = folder.glob("*.json")
    schema = json.loads(path.read_text())
    schema["properties"]["retired"] = {"type": "string"}
    (folder / "0.0.9.schema.json").write_text(json.dumps(schema))
    assert run_generate(check=False, as_json=True, root=checkout) == 1
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[-1])["incompatible"] == [
        "pages.crawled.v1 since 0.0.9: retired: the field is gone; what stood in it would be passed over"
    ]
    assert incompatible(checkout, [topic for topic in TOPICS if topic is not PAGES_SCORED])[-1].startswith(
        "pages.scored.v1: the topic is gone"
    )
    assert "breaks readers" in err
    assert goldens(checkout)[LIST] == (checkout / LIST).read_text("utf-8"), "the rest is written"


def test_release_keeps_changed_schemas_and_refuses_breaking_ones(checkout: Path) -> None:
    shutil.rmtree(checkout / RELEASED)
    topics = (PAGES_CRAWLED, PAGES_SCORED)
    release(checkout, "0.2.0", topics)
    assert release(checkout, "0.3.0", topics) == []
    [first] = (checkout / RELEASED / PAGES_CRAWLED.name).glob("*.json")
    schema = json.loads(first.read_text())
    del schema["properties"]["context"]
    first.write_text(json.dumps(schema))
    assert release(checkout, "0.10.0", topics) == [RELEASED / PAGES_CRAWLED.name / "0.10.0.schema.json"]
    assert release(checkout, "0.11.0", topics) == []
    (checkout / RELEASED / PAGES_CRAWLED.name / "0.9.0.schema.json").write_text(json.dumps(schema))
    assert release(checkout, "0.11.0", topics) == []
    (checkout / RELEASED / PAGES_CRAWLED.name / "0.12.0.schema.json").write_text(json.dumps(schema))
    with pytest.raises(ValueError, match="with another schema; raise the version first"):
        release(checkout, "0.12.0", topics)
    schema["properties"]["retired"] = {}
    first.write_text(json.dumps(schema))
    with pytest.raises(ValueError, match="the field is gone"):
        release(checkout, "0.13.0", topics)
