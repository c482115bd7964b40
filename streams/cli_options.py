"""Options that many commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]
Config = Annotated[Path | None, typer.Option("--config", help="A YAML file whose keys win over the shipped ones.")]
