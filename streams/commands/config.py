"""``assay config``: every key in force with its value and where that comes from, or the schema of all keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic_settings import EnvSettingsSource
from rich.console import Console
from rich.text import Text

from streams.settings import Settings, config_dir, load_settings, read_layers, read_yaml

Action = Literal["show", "schema"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of the configuration: its dotted name, its value (secrets masked), and where the value comes from."""

    key: str
    value: Any
    source: str


def run_config(action: Action, overlay: Path | None, as_json: bool) -> int:
    """Shows the configuration.

    Args:
        action: ``show`` the keys in force, or the JSON ``schema`` of all keys, which is JSON in any case.
        overlay: The file named with ``--config``.
        as_json: ``show`` as ``{"config_dir", "keys": [{"key", "value", "source"}]}``.

    Returns:
        0.

    Raises:
        SettingsError: The configuration can't be used.
    """
    if action == "schema":
        print(json.dumps(Settings.model_json_schema(), indent=2, ensure_ascii=False))
        return 0
    keys = keys_in_force(overlay)
    if as_json:
        document = {"config_dir": str(config_dir()), "keys": [asdict(key) for key in keys]}
        print(json.dumps(document, ensure_ascii=False))
        return 0
    console = Console(highlight=False, soft_wrap=True)
    for key in keys:
        value = json.dumps(key.value, ensure_ascii=False)
        console.print(Text.assemble((key.key, "bold"), " = ", value, (f"  # {key.source}", "dim")))
    return 0


def keys_in_force(overlay: Path | None) -> list[Key]:
    """Every key with its value and source: a file, ``environment``, or ``default``. Raises SettingsError."""
    settings = load_settings(overlay)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        *([(str(overlay), read_yaml(overlay))] if overlay else []),
        ("environment", EnvSettingsSource(Settings)()),
        *((str(path), layer) for path, layer in reversed(read_layers(config_dir()))),
    ]
    return [
        Key(".".join(path), value, next((name for name, layer in layers if _has(layer, path)), "default"))
        for path, value in _leaves(settings.model_dump(mode="json"), ())
    ]


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Keys down to what is no mapping; an empty mapping is a value too."""
    if not isinstance(value, dict) or not value:
        yield path, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, (*path, str(name)))


def _has(layer: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(layer, Mapping) or name not in layer:
            return False
        layer = layer[name]
    return True
