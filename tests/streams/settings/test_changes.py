"""Settings with changed keys, and the YAML of what differs."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams.runtime.settings_files import SettingsError
from streams.settings.changes import as_yaml, changed, differences
from streams.settings.model import Settings, load_settings
from tests.tables import tables

TABLES = tables(__file__)

CHANGES: dict[str, Any] = {
    "tiered_indexing": {"tier_a": {"min_cts": 60}},
    "source_rules": {"base_scores": {"tier_3": 15}},
    "trust_points": {"structure": {"schema": 9}},
    "source_tiers": {"tier_2": ["udn.com", "例.example"]},
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
