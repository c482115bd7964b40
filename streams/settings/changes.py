"""Settings with some keys changed, and the YAML of what differs, as a file for ``--config``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from schemas.rules import Section
from streams.runtime.settings_files import SettingsError, merged
from streams.settings.model import Settings, explain


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with these keys in place of their own, as a file of ``--config`` would have them.

    Only the changed sections are validated, so this takes a millisecond. Raises SettingsError: the message names every
    wrong key.
    """
    sections: dict[str, Section] = {}
    for name, change in changes.items():
        section = getattr(settings, name) if name in Settings.model_fields else None
        if not isinstance(section, Section) or not isinstance(change, Mapping):
            raise SettingsError(f"configuration: {name}: is no section that can be changed")
        document = merged(section.model_dump(by_alias=True), dict(change))
        try:
            sections[name] = type(section).model_validate(document)
        except ValidationError as error:
            raise SettingsError(explain(error, name)) from None
    return settings.model_copy(update=sections)


def differences(before: Settings, after: Settings) -> dict[str, Any]:
    """The keys whose values differ, with their values afterwards; a list is one value.

    A key that only ``before`` has, in a mapping of names, cannot be expressed and is left out.
    """
    found = {}
    for name in Settings.model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if old is not new and isinstance(new, Section) and old != new:
            found[name] = _differing(*(section.model_dump(mode="json", by_alias=True) for section in (old, new)))
    return found


def as_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML; "" for no difference."""
    return yaml.safe_dump(dict(document), allow_unicode=True, sort_keys=False, width=120) if document else ""


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for key, value in new.items():
        before = old.get(key)
        if value != before:
            inner = _differing(before, value) if isinstance(value, Mapping) and isinstance(before, Mapping) else value
            found[key] = inner
    return found
