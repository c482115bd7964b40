"""A model's folder: found by its name, refused with a remedy, and loaded only if it is used."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from handlers.ranking.model import NAMES, ModelMismatchError
from streams.cli.try_ import HandlerTrial
from streams.doctor.examination import check_trees
from streams.query.engine import QueryEngine
from streams.settings.model import SettingsError, load_settings
from streams.training.model_files import SHIPPED_MANIFEST, manifest_path, read_ranking_model
from tests.handlers.ranking.models import generated_model
from tests.samples import the_handler
from tests.streams.query.toys import Answers
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model of 41 features."""
    model = generated_model()
    folder = tmp_path / "grown"
    folder.mkdir()
    (folder / "manifest.json").write_text(model.manifest.model_dump_json(), "utf-8")
    (folder / "model.json").write_text(model.model, "utf-8")
    return folder


def changed(folder: Path, **fields: Any) -> str:
    """The folder with other fields in its manifest."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | fields), "utf-8")
    return str(folder)


def unreadable(folder: Path) -> str:
    """The folder with a model that is whole and that XGBoost can't read after all."""
    document = json.loads((folder / "model.json").read_text("utf-8"))
    document["learner"]["learner_model_param"]["base_score"] = "[much]"
    text = json.dumps(document)
    (folder / "model.json").write_text(text, "utf-8")
    return changed(folder, sha256=hashlib.sha256(text.encode()).hexdigest())


# --- where it lies ---------------------------------------------------------------------------------------------------


def test_a_model_is_named_by_its_folder_or_its_manifest(folder: Path) -> None:
    by_folder = read_ranking_model(str(folder))
    by_manifest = read_ranking_model(str(folder / "manifest.json"))
    assert by_folder == by_manifest == generated_model()
    assert manifest_path("shipped") == SHIPPED_MANIFEST


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fields", "told"), TABLES["a_manifest_with_a_wrong_key_is_refused_by_its_name"])
def test_a_manifest_with_a_wrong_key_is_refused_by_its_name(folder: Path, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelMismatchError) as refusal:
        read_ranking_model(changed(folder, **fields))
    assert f"{folder}/manifest.json: {told}" in str(refusal.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe"])
def test_invalid_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(ModelMismatchError, match="no manifest of a ranking model"):
        read_ranking_model(str(folder))


@pytest.mark.parametrize("cut", [slice(0, 500), slice(0, -1)])
def test_a_model_that_was_written_in_part_is_refused(folder: Path, cut: slice) -> None:
    path = folder / "model.json"
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(ModelMismatchError, match="SHA-256"):
        read_ranking_model(str(folder))


# --- in the settings -------------------------------------------------------------------------------------------------


def trees(folder: Path | str, mode: str) -> dict[str, Any]:
    return {"ranking": {"trees": {"mode": mode, "model": str(folder)}}}


def test_model_that_does_not_fit_fails_on_load(folder: Path) -> None:
    names = [NAMES[1], NAMES[0], *NAMES[2:]]
    with pytest.raises(SettingsError, match=r"^configuration: .*feature 0 is 'query_words' in the manifest and "):
        load_settings(**trees(changed(folder, features=names), "shadow"))


def test_a_trial_says_at_once_what_xgboost_cannot_read(folder: Path) -> None:
    settings = load_settings(**trees(unreadable(folder), "on"))
    handler = the_handler("rank_results")
    with asyncio.Runner() as runner, pytest.raises(SettingsError, match="does not fit"):
        HandlerTrial(handler, settings, runner)


def test_features_of_another_configuration_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = load_settings(**trees(folder, "on"))
    [finding] = check_trees(settings)
    assert (finding.what, finding.state) == ("ranking trees", "ok")
    with capture_logs() as logged:
        QueryEngine(settings, Answers())
    assert logged == []
    changed(folder, features_config="0" * 12)
    settings = load_settings(**trees(folder, "on"))
    [finding] = check_trees(settings)
    assert finding.state == "warn"
    assert "ranking.bm25, ranking.intent or ranking.mmr" in finding.detail
    with capture_logs() as logged:
        QueryEngine(settings, Answers())
    assert [(entry["log_level"], entry["event"]) for entry in logged] == [("warning", finding.detail)]
    assert list(check_trees(load_settings())) == []
    [finding] = check_trees(load_settings(**trees(unreadable(folder), "on")))
    assert finding.state == "fail"
