"""Readers of today understand every record that was ever released, and the check that says so finds what it should."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from streams.commands.generate import run_generate
from streams.generate.compatibility import breaks
from streams.generate.goldens import LIST, RELEASED, goldens, incompatible, lost, release
from streams.generate.json_schemas import schema_of
from streams.topology import PAGES_CRAWLED, PAGES_SCORED, TOPICS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "schemas/examples").glob("*/*.json"))

EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["url"],
    "properties": {
        "url": {"type": "string", "maxLength": 100},
        "status": {"anyOf": [{"type": "integer", "minimum": 100}, {"type": "null"}], "default": None},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "attempt": {"type": "integer", "default": 1},
        "kind": {"enum": ["date", "time"], "type": "string"},
        "seen_at": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[a-z]+$"},
        "tags": {"type": "array", "maxItems": 10, "items": {"type": "string"}},
        "span": {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2,
        },
        "details": {"type": "array", "items": {"$ref": "#/$defs/Detail"}},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "anything": {"type": "object", "additionalProperties": True},
        "whole": {"allOf": [{"$ref": "#/$defs/Whole"}], "description": "As one definition."},
        "both": {"allOf": [{"$ref": "#/$defs/Half"}, {"type": "object", "required": ["b"]}]},
    },
    "$defs": {
        "Whole": {"type": "object", "properties": {"w": {"type": "string"}}},
        "Half": {"type": "object", "properties": {"h": {"type": "string"}}},
        "Detail": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "of": {"anyOf": [{"$ref": "#/$defs/Detail"}, {"type": "null"}]}},
        },
    },
}


def of(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def field(schema: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = schema["properties"][name]
        return found

    return field


def detail(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"]["Detail"]
    return found


BREAKING: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ("a field goes", lambda s: s["properties"].pop("score"), "score: the field is gone"),
    (
        "a field is required",
        lambda s: s["required"].append("score"),
        "score: the field is required today and was optional",
    ),
    (
        "a new field is required",
        lambda s: (s["properties"].update(new={"type": "string"}), s["required"].append("new")),
        "new: the field is required today and did not exist",
    ),
    (
        "another type",
        lambda s: of("url")(s).update(type="integer"),
        "url: could be string, and today only integer is read",
    ),
    (
        "null is refused",
        lambda s: of("status")(s)["anyOf"].pop(),
        "status: could be null, and today only integer is read",
    ),
    ("numbers become whole", lambda s: of("score")(s).update(type="integer"), "score: could be number"),
    ("a value goes", lambda s: of("kind")(s)["enum"].pop(), 'kind: could be "time", which is no longer read'),
    (
        "values are counted",
        lambda s: of("code")(s).update(enum=["a"]),
        'code: could have any value, and today only "a"',
    ),
    (
        "one value is left",
        lambda s: (of("kind")(s).pop("enum"), of("kind")(s).update(const="date")),
        'kind: could be "time"',
    ),
    (
        "a higher minimum",
        lambda s: of("score")(s).update(minimum=0.5),
        "score: minimum was at least 0 and is at least 0.5",
    ),
    (
        "a lower maximum",
        lambda s: of("score")(s).update(maximum=0.5),
        "score: maximum was at most 1 and is at most 0.5",
    ),
    ("a shorter text", lambda s: of("url")(s).update(maxLength=99), "url: maxLength was at most 100 and is at most 99"),
    (
        "a first bound",
        lambda s: of("code")(s).update(minLength=1),
        "code: minLength had no such bound and is at least 1",
    ),
    ("fewer items", lambda s: of("tags")(s).update(maxItems=9), "tags: maxItems was at most 10"),
    (
        "another pattern",
        lambda s: of("code")(s).update(pattern="^[A-Z]+$"),
        'code: pattern was "^[a-z]+$" and is "^[A-Z]+$"',
    ),
    ("a first format", lambda s: of("url")(s).update(format="uri"), 'url: format was none and is "uri" today'),
    ("equal items", lambda s: of("tags")(s).update(uniqueItems=True), "tags: items may no longer be equal"),
    ("another default", lambda s: of("attempt")(s).update(default=2), "attempt: its default was 1 and is 2"),
    (
        "a default that is made elsewhere",
        lambda s: of("attempt")(s).pop("default"),
        "attempt: its default was 1 and none is declared",
    ),
    (
        "a name in a mapping",
        lambda s: of("metadata")(s).update(properties={"k": {"type": "integer"}}),
        "metadata.k: could be string, and today only integer",
    ),
    (
        "a name in a mapping of anything",
        lambda s: of("anything")(s).update(properties={"k": {"type": "integer"}}),
        "anything.k: could be anything, and today only integer",
    ),
    (
        "a mapping that becomes a model",
        lambda s: s["properties"].update(metadata={"type": "object", "properties": {"k": {"type": "string"}}}),
        "metadata: it held fields of any name",
    ),
    (
        "the one part of a whole",
        lambda s: s["$defs"]["Whole"]["properties"]["w"].update(type="integer"),
        "whole.w: could be string",
    ),
    (
        "a part of several",
        lambda s: s["$defs"]["Half"]["properties"]["h"].update(type="integer"),
        "both.h: could be string",
    ),
    ("a part more", lambda s: of("both")(s)["allOf"].append({"required": ["h"]}), "both: allOf has other parts"),
    ("closed", lambda s: s.update(additionalProperties=False), "the event: fields beyond those that are named"),
    ("closed below", lambda s: detail(s).update(additionalProperties=False), "details[]: fields beyond those"),
    (
        "a narrower mapping",
        lambda s: of("metadata")(s)["additionalProperties"].update(maxLength=5),
        "metadata.*: maxLength",
    ),
    ("a mapping of one kind", lambda s: s.update(additionalProperties={"type": "string"}), "the event: fields beyond"),
    ("items of another type", lambda s: of("tags")(s)["items"].update(type="integer"), "tags[]: could be string"),
    (
        "a place of another type",
        lambda s: of("span")(s)["prefixItems"][1].update(type="string"),
        "span[1]: could be integer",
    ),
    ("no further items", lambda s: of("tags")(s).update(items=False), "tags: further items are refused"),
    ("deep below", lambda s: detail(s)["properties"].pop("text"), "details[].text: the field is gone"),
    ("within a choice", lambda s: of("status")(s)["anyOf"][0].update(minimum=200), "status: minimum was at least 100"),
    ("an unknown keyword", lambda s: s.update(dependentRequired={"url": ["code"]}), "the event: dependentRequired has"),
]
HARMLESS: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("nothing", lambda s: s),
    ("other words", lambda s: (s.update(title="T", description="D"), of("url")(s).update(examples=["u"]))),
    ("a new field", lambda s: s["properties"].update(new={"type": "string"})),
    ("a new field with a default", lambda s: s["properties"].update(new={"type": "integer", "default": 3})),
    ("no longer required", lambda s: s["required"].clear()),
    ("null is welcome", lambda s: of("score")(s).update(type=["number", "null"])),
    ("whole numbers become numbers", lambda s: of("attempt")(s).update(type="number")),
    ("one more value", lambda s: of("kind")(s)["enum"].append("place")),
    ("any value", lambda s: of("kind")(s).pop("enum")),
    ("wider bounds", lambda s: (of("score")(s).update(minimum=-1, maximum=2), of("url")(s).update(maxLength=200))),
    ("no bounds", lambda s: (of("score")(s).pop("minimum"), of("tags")(s).pop("maxItems"))),
    ("any text", lambda s: (of("code")(s).pop("pattern"), of("seen_at")(s).pop("format"))),
    ("one more choice", lambda s: of("status")(s)["anyOf"].append({"type": "string"})),
    ("any type", lambda s: of("code")(s).pop("type")),
    ("said to be open", lambda s: s.update(additionalProperties=True)),
    ("a part without its wrapping", lambda s: s["properties"].update(whole={"$ref": "#/$defs/Whole"})),
    ("a name in a mapping as before", lambda s: of("metadata")(s).update(properties={"k": {"type": "string"}})),
    ("a definition written out", lambda s: of("details")(s).update(items=copy.deepcopy(detail(s)))),
    (
        "another name of a definition",
        lambda s: (s["$defs"].update(Part=detail(s)), of("details")(s).update(items={"$ref": "#/$defs/Part"})),
    ),
]


@pytest.mark.parametrize(("change", "says"), [(c, w) for _, c, w in BREAKING], ids=[name for name, _, _ in BREAKING])
def test_a_change_that_breaks_readers_is_told(change: Callable[[dict[str, Any]], Any], says: str) -> None:
    today = copy.deepcopy(EVENT)
    change(today)
    found = [str(one) for one in breaks(EVENT, today)]
    assert len(found) == 1
    assert found[0].startswith(says)


@pytest.mark.parametrize("change", [change for _, change in HARMLESS], ids=[name for name, _ in HARMLESS])
def test_a_change_that_breaks_nobody_is_not(change: Callable[[dict[str, Any]], Any]) -> None:
    today = copy.deepcopy(EVENT)
    change(today)
    assert breaks(EVENT, today) == []


def test_this_checkout_breaks_nobody_and_has_lost_nothing() -> None:
    assert incompatible(ROOT) == []
    assert lost(ROOT) == []


def test_every_kept_file_is_listed_and_every_event_was_released() -> None:
    listed = {line.split("  ")[1] for line in (ROOT / LIST).read_text("utf-8").splitlines()}
    kept = [*EXAMPLES, *(ROOT / RELEASED).glob("*/*.json")]
    assert listed == {path.relative_to(ROOT).as_posix() for path in kept}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_example_fits_todays_schema_and_every_released_one_of_its_topic(path: Path) -> None:
    """A golden message may have come from a writer in another language, so the schemas have to take it as well."""
    topic = next(topic for topic in TOPICS if topic.name == path.parent.name)
    jsonschema.validate(json.loads(path.read_text("utf-8")), schema_of(topic), jsonschema.Draft202012Validator)


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


def test_an_example_can_not_be_removed_or_edited_in_silence(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = checkout / "schemas/examples/pages.crawled.v1/minimal.json"
    edited = checkout / "schemas/examples/pages.scored.v1/minimal.json"
    gone.unlink()
    edited.write_text(edited.read_text() + " ")
    for check in (True, False, True):
        capsys.readouterr()
        assert run_generate(check=check, as_json=False, root=checkout) == 1
        err = capsys.readouterr().err
        assert "schemas/examples/pages.crawled.v1/minimal.json is gone" in err
        assert "schemas/examples/pages.scored.v1/minimal.json has been edited" in err


def test_a_new_example_is_listed_and_from_then_on_kept(checkout: Path) -> None:
    new = checkout / "schemas/examples/pages.crawled.v1/odd.json"
    new.write_text('{"url": "u", "html": ""}')
    assert run_generate(check=True, as_json=True, root=checkout) == 1
    assert run_generate(check=False, as_json=True, root=checkout) == 0
    new.unlink()
    assert lost(checkout) == ["schemas/examples/pages.crawled.v1/odd.json is gone; what was kept is kept for ever"]
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


def test_a_release_keeps_what_has_changed_and_refuses_what_breaks(checkout: Path) -> None:
    shutil.rmtree(checkout / RELEASED / PAGES_CRAWLED.name)
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
