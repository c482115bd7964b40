"""The options that several commands have, and the settings that a command loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option
from typer.core import TyperGroup

from streams.runtime.process import gc_paused

if TYPE_CHECKING:
    from streams.settings.model import Settings

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}

AsJson = Annotated[bool, Option("--json", help="Write JSON for programs.")]
Config = Annotated[Path | None, Option("--config", help="A YAML file whose keys override the shipped ones.")]

Tiers = Annotated[list[str] | None, Option("--tier", help="Tier of the index, A, B or C; repeatable.")]
Domains = Annotated[list[str] | None, Option("--domain", help="A domain or host; repeatable.")]
Tags = Annotated[list[str] | None, Option("--tag", help="news, academic, government, blog; repeatable.")]
Since = Annotated[str | None, Option("--since", help="Published on this day or later, such as 2025-01-31.")]
Until = Annotated[str | None, Option("--until", help="Published on this day or earlier.")]


def command_group(help_text: str, kind: type[TyperGroup] | None = None) -> typer.Typer:
    return typer.Typer(
        cls=kind, help=help_text, no_args_is_help=True, add_completion=False, context_settings=HELP_OPTIONS
    )


def load_settings(overlay: Path | None = None) -> Settings:
    """The configuration in force, with the keys of the file of ``--config`` over it. Raises SettingsError."""
    with gc_paused():
        # ``--help`` does not wait for the sections of all handlers.
        from streams.settings.model import load_settings

        return load_settings(overlay)
