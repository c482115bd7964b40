"""Options that many commands have, and the settings that they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.process import gc_paused

if TYPE_CHECKING:
    from streams.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
Config = Annotated[Path | None, typer.Option("--config", help="A YAML file whose keys override the shipped ones.")]

Tiers = Annotated[list[str] | None, typer.Option("--tier", help="Tier of the index, A, B or C; repeatable.")]
Domains = Annotated[list[str] | None, typer.Option("--domain", help="A domain or host; repeatable.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="news, academic, government, blog; repeatable.")]
Since = Annotated[str | None, typer.Option("--since", help="Published on this day or later, such as 2025-01-31.")]
Until = Annotated[str | None, typer.Option("--until", help="Published on this day or earlier.")]


def load_settings(overlay: Path | None = None) -> Settings:
    """The configuration in force, for a command that was called.

    The sections are those of all handlers, so whoever only asks for help would wait for every one of them.

    Args:
        overlay: A YAML file whose keys win (``--config``).

    Raises:
        SettingsError: With every wrong key on a line of its own, and what to do.
    """
    with gc_paused():
        from streams.settings import load_settings

        return load_settings(overlay)
