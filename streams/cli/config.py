"""``assay config``: prints every key in force with its value and its origin, or the schema of all keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic_settings import EnvSettingsSource
from rich.text import Text
from typer import Argument

from streams.cli.command import AsJson, Config
from streams.cli.output import say_json
from streams.runtime.settings_files import config_dir, read_layers, read_yaml
from streams.runtime.terminal import dumped
from streams.settings.model import Settings, load_settings
from streams.training.model_files import manifest_path
from streams.views.screen import Screen

Action = Literal["show", "schema"]
_ENVIRONMENT = "environment"


def config(
    action: Annotated[Action, Argument(help="What to do.")] = "show", as_json: AsJson = False, config: Config = None
) -> int:
    if action == "schema" or as_json:
        schema = action == "schema"
        say_json(Settings.model_json_schema() if schema else keys_in_force(config), indent=2 if schema else None)
        return 0
    lines = (
        Text.assemble((name, "bold"), " = ", dumped(key["value"]), (f"  # {key['from']}", "dim"))
        for name, key in keys_in_force(config).items()
    )
    # There are 26,000 keys; to print each alone takes half as long again.
    Screen(soft_wrap=True).print(Text("\n").join(lines))
    return 0


def keys_in_force(overlay: Path | None) -> dict[str, dict[str, Any]]:
    """Every key with its ``value``, secrets masked, and ``from``: a file, the environment or ``default``."""
    settings = load_settings(overlay)
    layers = [(str(path), layer) for path, layer in read_layers(config_dir())]
    layers.append((_ENVIRONMENT, EnvSettingsSource(Settings)()))
    if overlay:
        layers.append((str(overlay), read_yaml(overlay)))
    if settings.ranking_model:
        model = {"ranking_model": settings.ranking_model.model_dump(mode="json")}
        layers.append((str(manifest_path(settings.ranking.trees.model)), model))
    origins = {path: name for name, layer in layers for path, _ in _leaves(layer, ())}
    keys = {}
    for path, value in _leaves(settings.model_dump(mode="json"), ()):
        origin = origins.get(path, "default")
        source = f"{origin} {_variable(path)}" if origin == _ENVIRONMENT else origin
        keys[".".join(path)] = {"value": value, "from": source}
    return keys


def _variable(path: tuple[str, ...]) -> str:
    """The variable that sets a key: its own, or that of a section, as JSON."""
    names = ("ASSAY_" + "__".join(path[:length]).upper() for length in range(len(path), 0, -1))
    there = {name.upper() for name in os.environ}
    return next((name for name in names if name in there), "")


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(value, dict) or not value:
        yield path, value
        return
    for name, inner in value.items():
        yield from _leaves(inner, (*path, str(name)))
