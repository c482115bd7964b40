"""Sections that are read without the others are those of the whole document."""

from pathlib import Path

import pytest

from handlers.classify_results import ClassifyResultsRules
from handlers.evaluate_retrieval import EvaluateRetrievalRules
from handlers.score_page import ScorePageRules
from schemas.rules import Rules
from streams.runtime.settings_files import SettingsError
from streams.settings.lazy import LazySettings
from streams.settings.model import Settings
from tests.samples import variables_of_assay


@pytest.fixture(autouse=True)
def as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in variables_of_assay():
        monkeypatch.delenv(name)


@pytest.mark.parametrize("kind", [ScorePageRules, ClassifyResultsRules, EvaluateRetrievalRules])
def test_rules_are_those_of_the_whole_configuration(kind: type[Rules]) -> None:
    settings = LazySettings()
    whole: Settings = settings.whole
    assert settings.of(kind).config_version == whole.rules(kind).config_version
    assert settings.of(kind) is settings.of(kind)


@pytest.mark.parametrize("sections", [{"tiered_indexing": {"tier_a": {"min_ct": 1}}}, {"tierd_indexing": {}}])
def test_an_unknown_key_is_named(sections: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=r"min_ct|tierd_indexing"):
        LazySettings(**sections)


def test_a_wrong_shipped_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "assay.yaml").write_text("tiered_indexing: {}\n", "utf-8")
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path))
    with pytest.raises(SettingsError, match="tiered_indexing"):
        LazySettings().of(ScorePageRules)
