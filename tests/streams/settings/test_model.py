import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from handlers.classify_results import ClassifyResultsRules
from handlers.evaluate_retrieval import EvaluateRetrievalRules
from handlers.score_page import ScorePageRules
from schemas.rules import Rules, Section
from streams.runtime.settings_files import config_dir, merged, read_yaml
from streams.settings.changes import as_yaml, changed, differences
from streams.settings.lazy import LazySettings
from streams.settings.model import Settings, SettingsError, load_settings
from streams.topology import HANDLERS, Handler
from tests.rules import CONFIG, shipped_rules
from tests.samples import variables_of_assay
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the variables of Assay from the environment."""
    for name in variables_of_assay():
        monkeypatch.delenv(name)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped configuration that a test may change."""
    copy = tmp_path / "config"
    shutil.copytree(CONFIG, copy)
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(copy))
    return copy


def overlay(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "overlay.yaml"
    path.write_text(text, "utf-8")
    return path


# --- what wins -------------------------------------------------------------------------------------------------------


def test_what_is_nearer_wins(directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().pipeline.poll_records == 100
    with (directory / "assay.yaml").open("a") as file:
        file.write("\npipeline: {poll_records: 11, commit_records: 12}\n")
    assert load_settings().pipeline.poll_records == 11
    monkeypatch.setenv("ASSAY_PIPELINE__POLL_RECORDS", "22")
    assert load_settings().pipeline.poll_records == 22
    above = overlay(tmp_path, "pipeline: {poll_records: 33}")
    assert load_settings(above).pipeline.poll_records == 33
    flagged = load_settings(above, pipeline={"poll_records": 44})
    assert flagged.pipeline.poll_records == 44
    assert flagged.pipeline.commit_records == 12, "keys that nobody names above stay as they are"


def test_every_kind_of_value_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_DELIVERY", "at_least_once")
    monkeypatch.setenv("assay_http__enabled", "false")
    monkeypatch.setenv("ASSAY_KAFKA__SASL_PASSWORD", "hunter2")
    monkeypatch.setenv("ASSAY_FETCH__RESOLVE", '{"a.example": "127.0.0.1:8443"}')
    monkeypatch.setenv("ASSAY_FETCH__CONTENT_TYPES", '["text/html"]')
    monkeypatch.setenv("ASSAY_LOGS", '{"level": "error"}')
    monkeypatch.setenv("ASSAY_RETRIEVALEVALUATION__DIMENSIONTHRESHOLDS__ACTIONABLEINFORMATION", "0.7")
    settings = load_settings()
    assert settings.delivery == "at_least_once"
    assert not settings.http.enabled
    assert settings.kafka.sasl_password.get_secret_value() == "hunter2"
    assert settings.fetch.resolve == {"a.example": "127.0.0.1:8443"}
    assert settings.fetch.content_types == ("text/html",)
    assert settings.logs.level == "error"
    assert settings.retrievalEvaluation.dimensionThresholds.actionableInformation == 0.7


def test_mappings_are_merged_and_anything_else_is_replaced() -> None:
    below = {"a": {"b": 1, "c": [1]}, "d": {"e": 1}}
    assert merged(below, {"a": {"c": [2]}, "d": 3}) == {"a": {"b": 1, "c": [2]}, "d": 3}
    assert below == {"a": {"b": 1, "c": [1]}, "d": {"e": 1}}


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "key"), TABLES["wrong_key_is_named_with_its_path"])
def test_wrong_key_is_named_with_its_path(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_settings(overlay(tmp_path, text))
    assert key in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "value", "says"), TABLES["wrong_variable_is_named"])
def test_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=says):
        load_settings()


@pytest.mark.parametrize(
    "content",
    [
        b"a: [",
        b"a: b: c",
        b"\xff\xfe\x00",
        b"- 1\n- 2\n",
        b"just text",
        b"a: " + b"[" * 100_000,
        b"a:\n" + b"- " * 100_000,
        b"{a: " * 101 + b"}" * 101,
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d, " % (n - 1) * 9) for n in range(1, 9)),
        b"a: &a {b: *a}",
        b"a: " + b"9" * 5000,
        b"a: 2001-99-99",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_file_that_is_not_a_mapping_is_an_error_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "overlay.yaml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"overlay\.yaml"):
        load_settings(path)


def test_inconsistent_sections_fail_when_a_handler_needs_them() -> None:
    settings = load_settings(trust_points={"citation": {"doi_or_citation": 100}})
    with pytest.raises(SettingsError, match="sum to more than 100"):
        settings.rules(ScorePageRules)


def test_a_missing_file_is_named_with_the_reason_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        read_yaml(tmp_path / "none.yaml")
    assert str(raised.value) == f"{tmp_path / 'none.yaml'}: No such file or directory"


def test_the_model_of_a_task_is_the_nearest_that_is_named() -> None:
    settings = load_settings(llm={"model": "all"}, model_tasks={"judge_relevance": {"model": "own"}})
    assert (settings.model_of("judge_relevance"), settings.model_of("rank_results")) == ("own", "all")


def test_yaml_makes_no_objects(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as raised:
        read_yaml(overlay(tmp_path, "a: !!python/object/apply:os.getcwd []"))
    assert "getcwd" not in str(raised.value), "a secret without quotes can look like a tag"


# --- where the files are ---------------------------------------------------------------------------------------------


def test_a_named_directory_wins_and_has_to_be_there(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_dir() == directory
    (directory / "assay.yaml").unlink()
    with pytest.raises(SettingsError, match="ASSAY_CONFIG_DIR"):
        load_settings()


@pytest.mark.parametrize(
    ("token", "host"),
    [
        ("two words", "::1"),
        ("schlüssel", "::1"),
        ("line\n", "::1"),
        ("easy-to-guess", "0.0.0.0"),
        ("easy", "name.example"),
    ],
)
def test_unfit_token_is_refused_unseen(token: str, host: str) -> None:
    with pytest.raises(SettingsError, match=r"http\.token") as refused:
        load_settings(http={"token": token, "host": host})
    assert token.strip() not in str(refused.value)


# --- the document and the views on it --------------------------------------------------------------------------------


def test_every_key_is_described_and_unknown_keys_are_refused() -> None:
    assert Settings.model_config.get("extra") == "forbid"
    undescribed = [path for path, described in _keys(Settings, "") if not described]
    assert undescribed == []


# The trees that re-rank are a file, named by another section: test_ranking_model.py changes those.
SECTIONS = [(handler, name) for handler in HANDLERS for name in handler.rules.model_fields if name != "ranking_model"]


@pytest.mark.parametrize(("handler", "section"), SECTIONS, ids=[f"{h.name}-{name}" for h, name in SECTIONS])
def test_what_a_decision_depends_on_changes_its_version(handler: Handler, section: str) -> None:
    shipped = once().model_dump(mode="json", by_alias=True, include={section})
    version = once().rules(handler.rules).config_version
    for change in _changes(shipped):
        try:
            other = shipped_rules(handler.rules, **merged(shipped, change))
        except ValidationError:
            continue
        assert other.config_version != version
        return
    pytest.fail(f"found no other value that {section} takes")


@cache
def once() -> Settings:
    """The shipped settings, read once."""
    return load_settings()


def _changes(value: Any) -> Iterator[Any]:
    """Parts of the value with one thing in it changed."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
            yield value - 1
        case float():
            yield value * 0.99
        case str():
            yield f"{value}-other"
        case [_, *others]:
            yield others
        case {"system": str(system), "user": str(user)}:
            yield f"# system\n{system} Be brief.\n# user\n{user}"
        case dict():
            for name, inner in value.items():
                yield from ({name: changed} for changed in _changes(inner))


def _keys(model: type[BaseModel], place: str) -> Iterator[tuple[str, bool]]:
    for name, field in model.model_fields.items():
        yield f"{place}{name}", bool(field.description)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            assert field.annotation.model_config.get("extra") == "forbid"
            yield from _keys(field.annotation, f"{place}{name}.")


# --- what is read when -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ScorePageRules, ClassifyResultsRules, EvaluateRetrievalRules])
def test_rules_are_those_of_the_whole_configuration(kind: type[Rules]) -> None:
    settings = LazySettings()
    whole: Settings = settings.whole
    assert settings.of(kind).config_version == whole.rules(kind).config_version
    assert settings.of(kind) is settings.of(kind)


def test_a_wrong_shipped_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assay.yaml").write_text("tiered_indexing: {}\n", "utf-8")
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path))
    with pytest.raises(SettingsError, match="tiered_indexing"):
        LazySettings().of(ScorePageRules)


# --- changes of one configuration to another -------------------------------------------------------------------------


CHANGES: dict[str, Any] = {
    "tiered_indexing": {"tier_a": {"min_cts": 60}},
    "source_rules": {"base_scores": {"tier_3": 15}},
    "trust_points": {"structure": {"schema": 9}},
    "source_tiers": {"tier_2": ["udn.com", "例.example"]},
    "sources": {"own": {"new.example": {"kind": None, "tier": 2, "reason": ""}}},
}


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings()


def test_changed_keys_are_those_of_a_configuration_file(settings: Settings, tmp_path: Path) -> None:
    other = changed(settings, CHANGES)
    assert differences(settings, other) == CHANGES
    file = tmp_path / "other.yaml"
    file.write_text(as_yaml(differences(settings, other)), "utf-8")
    assert yaml.safe_load(file.read_text("utf-8")) == CHANGES
    loaded = load_settings(file)
    for name in CHANGES:
        assert getattr(loaded, name) == getattr(other, name)


@pytest.mark.parametrize(("changes", "says"), TABLES["impossible_changes_are_refused"])
def test_impossible_changes_are_refused(settings: Settings, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        changed(settings, changes)
