"""Options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
Config = Annotated[Path | None, typer.Option("--config", help="A YAML file whose keys win over the shipped ones.")]

Tiers = Annotated[list[str] | None, typer.Option("--tier", help="Tier of the index, A, B or C; repeatable.")]
Domains = Annotated[list[str] | None, typer.Option("--domain", help="A domain or host; repeatable.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="news, academic, government, blog; repeatable.")]
Since = Annotated[str | None, typer.Option("--since", help="Published on this day or later, such as 2025-01-31.")]
Until = Annotated[str | None, typer.Option("--until", help="Published on this day or earlier.")]
