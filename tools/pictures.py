"""``python -m tools.pictures``: draws a part of what `assay demo --once` prints into ``docs/pictures/demo.svg``."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from unittest.mock import patch

from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from streams.cli.commands import run_command_line
from streams.views.screen import Screen

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SHOWN = ("How far can", "tier A", "tier C", "Does what came back", "“events in Aarhus today”")
"""The paragraphs of the demonstration that its picture has, by how they begin."""
DEMO_COLUMNS = 110


def demonstration(folder: Path = PICTURES) -> None:
    """Runs the demonstration and draws a part of what it prints."""
    run = Screen(record=True, file=io.StringIO(), width=DEMO_COLUMNS, color_system="truecolor")
    with patch("streams.cli.demo.Screen", return_value=run):
        status = run_command_line(["demo", "--once"])
    if status != 0:
        raise SystemExit(status)
    shown = run.export_text(styles=True).rstrip()
    drawn = Screen(record=True, file=io.StringIO(), width=DEMO_COLUMNS, color_system="truecolor")
    for paragraph in [*re.split(r"\n\s*\n", shown), shown.rpartition("\n")[2]]:
        text = Text.from_ansi(paragraph)
        if text.plain.startswith(SHOWN) or paragraph == shown.rpartition("\n")[2]:
            drawn.print(text, end="\n\n")
    folder.mkdir(parents=True, exist_ok=True)
    picture = drawn.export_svg(title="make demo", theme=SVG_EXPORT_THEME)
    # A picture loads no font from another host.
    (folder / "demo.svg").write_text(re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    demonstration(*map(Path, sys.argv[1:]))
