"""``assay config``: every key in force with its value and where it comes from, or the description of every key."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from streams.settings import Settings, config_dir, load_settings, read_document, read_yaml

_HIDDEN = "********"


def run_config(action: Literal["show", "schema"], overlay: Path | None, as_json: bool) -> int:
    """Runs the command; secrets are hidden.

    Args:
        action: ``show`` prints values and origins (default, file, environment, flag); ``schema`` the JSON Schema.
        overlay: The file given by ``--config``, if one was.
        as_json: For ``show``: a JSON object ``{key: {"value", "from"}}``; a schema is JSON anyway.

    Raises:
        SettingsError: The configuration can't be used.
    """
    if action == "schema":
        print(json.dumps(Settings.model_json_schema(), indent=2, ensure_ascii=False))
        return 0
    settings = load_settings(overlay)
    origins = _Origins(overlay)
    entries = {
        ".".join(path): {"value": value, "from": origins.of(path)} for path, value in _leaves(settings.model_dump(), ())
    }
    if as_json:
        print(json.dumps(entries, ensure_ascii=False, default=str))
        return 0
    for key, entry in entries.items():
        print(f"{key} = {json.dumps(entry['value'], ensure_ascii=False, default=str)}  # {entry['from']}")
    return 0


class _Origins:
    """Where each key was last set: the order of ``Settings.settings_customise_sources``, highest first."""

    def __init__(self, overlay: Path | None) -> None:
        directory = config_dir()
        self._flags = read_yaml(overlay) if overlay else {}
        self._file = read_document(directory)
        self._directory = directory
        self._environment = {name.upper() for name in os.environ}

    def of(self, path: tuple[str, ...]) -> str:
        """``flag``, ``environment`` with the variable's name, ``file`` or ``default``."""
        if _has(self._flags, path):
            return "flag"
        for length in range(len(path), 0, -1):
            name = "ASSAY_" + "__".join(path[:length]).upper()
            if name in self._environment:
                return f"environment {name}"
        return f"file {self._directory.name}/" if _has(self._file, path) else "default"


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, SecretStr):
        yield path, _HIDDEN if value.get_secret_value() else ""
    else:
        yield path, value


def _has(document: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(document, dict) or key not in document:
            return False
        document = document[key]
    return True
