"""Today's models read every record of earlier releases, and the check of this finds breaking changes."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from streams.cli.generate import run_generate
from streams.generate.compatibility import breaks
from streams.generate.examples import EARLIER, is_generated
from streams.generate.json_schemas import LIST, RELEASED, goldens, incompatible, lost, release, schema_of
from streams.topology import PAGES_CRAWLED, PAGES_SCORED, TOPICS, Topic, topic_named
from tests.samples import ROOT, instance

EXAMPLES = sorted((ROOT / "schemas/examples").glob("*/*.json"))

TABLES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
EVENT: dict[str, Any] = TABLES["event"]


def patched(value: Any, patch: Any) -> Any:
    """A JSON merge patch applied (RFC 7396)."""
    if not isinstance(patch, dict) or not isinstance(value, dict):
        return patch
    kept = {name: old for name, old in value.items() if name not in patch}
    return kept | {name: patched(value.get(name), new) for name, new in patch.items() if new is not None}


@pytest.mark.parametrize(("name", "change", "says"), TABLES["breaking"], ids=lambda value: str(value)[:30])
def test_breaking_change_is_reported(name: str, change: dict[str, Any], says: str) -> None:
    found = [str(one) for one in breaks(EVENT, patched(EVENT, change))]
    assert len(found) == 1, name
    assert found[0].startswith(says)


@pytest.mark.parametrize(("name", "change"), TABLES["harmless"], ids=lambda value: str(value)[:30])
def test_harmless_change_is_not_reported(name: str, change: dict[str, Any]) -> None:
    assert breaks(EVENT, patched(EVENT, change)) == [], name


def test_choices_of_an_object_may_name_a_few_of_its_fields() -> None:
    one, other = ({"required": [name], "properties": {name: {"type": "string"}}} for name in ("html", "content"))
    fields = {name: {"anyOf": [{"type": "string"}, {"type": "null"}]} for name in ("html", "content", "title")}
    event = {"type": "object", "properties": fields, "oneOf": [one, other]}
    assert breaks(event, event) == []
    assert breaks(event, {**event, "oneOf": [one, other, {}]}) == []
    assert [found.where for found in breaks(event, {**event, "oneOf": [one]})] == ["html", "html"]
    without_title = {**event, "properties": {name: fields[name] for name in ("html", "content")}}
    assert [found.where for found in breaks(event, without_title)] == ["title"]


def test_this_checkout_is_compatible_and_complete() -> None:
    assert incompatible(ROOT) == []
    assert lost(ROOT) == []


def test_every_kept_file_is_listed_and_every_event_was_released() -> None:
    listed = {line.split("  ")[1] for line in (ROOT / LIST).read_text("utf-8").splitlines()}
    written = [path for path in EXAMPLES if not is_generated(instance(Topic, topic_named(path.parent.name)))]
    earlier = (ROOT / "schemas/examples").glob(f"*/{EARLIER}/*.json")
    kept = [*written, *earlier, *(ROOT / RELEASED).glob("*/*.json")]
    assert listed == {path.relative_to(ROOT).as_posix() for path in kept}


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_the_examples_of_a_topic_fit_its_schema(topic: Topic) -> None:
    """A writer in another language may have written a golden message, so it must fit the schema too."""
    validator = jsonschema.Draft202012Validator(schema_of(topic))
    for path in (ROOT / "schemas/examples" / topic.name).glob("*.json"):
        assert [error.message for error in validator.iter_errors(json.loads(path.read_text("utf-8")))] == [], path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "pyproject.toml").touch()
    shutil.copytree(ROOT / "config", folder / "config")
    shutil.copytree(ROOT / "schemas", folder / "schemas", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    assert run_generate(check=False, as_json=True, root=folder) == 0
    return folder


@pytest.fixture
def checkout(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "checkout"))


@pytest.mark.slow
def test_an_example_can_not_be_removed_or_edited_in_silence(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = checkout / "schemas/examples/pages.crawled.v1/minimal.json"
    edited = checkout / "schemas/examples/pages.scored.v1/before-1.0/minimal.json"
    gone.unlink()
    edited.write_text(edited.read_text() + " ")
    for check in (False, True):
        capsys.readouterr()
        assert run_generate(check=check, as_json=False, root=checkout) == 1
        err = capsys.readouterr().err
        assert "schemas/examples/pages.crawled.v1/minimal.json is gone" in err
        assert "schemas/examples/pages.scored.v1/before-1.0/minimal.json has been edited" in err


@pytest.mark.slow
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


def test_release_keeps_changed_schemas_and_refuses_breaking_ones(checkout: Path) -> None:
    shutil.rmtree(checkout / RELEASED)
    release(checkout, "0.2.0")
    assert release(checkout, "0.3.0") == []
    [first] = (checkout / RELEASED / PAGES_CRAWLED.name).glob("*.json")
    schema = json.loads(first.read_text())
    del schema["properties"]["context"]
    first.write_text(json.dumps(schema))
    assert release(checkout, "0.10.0") == [RELEASED / PAGES_CRAWLED.name / "0.10.0.schema.json"]
    assert release(checkout, "0.11.0") == []
    (checkout / RELEASED / PAGES_CRAWLED.name / "0.9.0.schema.json").write_text(json.dumps(schema))
    assert release(checkout, "0.11.0") == []
    (checkout / RELEASED / PAGES_CRAWLED.name / "0.12.0.schema.json").write_text(json.dumps(schema))
    with pytest.raises(ValueError, match="with another schema; raise the version first"):
        release(checkout, "0.12.0")
    schema["properties"]["retired"] = {}
    first.write_text(json.dumps(schema))
    with pytest.raises(ValueError, match="the field is gone"):
        release(checkout, "0.13.0")
