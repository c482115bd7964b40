"""The Python blocks of the documents run in the order of their page, and print what the text block after each says."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.samples import ROOT, environment

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "-- end of a block --"


class Block(NamedTuple):
    """A Python block, and what it prints; None if the page does not say."""

    code: str
    output: str | None


def python_blocks(text: str) -> list[Block]:
    """The Python blocks of a page."""
    found = [*_BLOCK.findall(text), ("", "")]
    return [
        Block(code, after[1] if after[0] == "text" else None)
        for (kind, code), after in pairwise(found)
        if kind == "python"
    ]


ELSEWHERE = ("integrations.md",)
"""Pages whose blocks need other packages: make test-integrations runs them."""
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.name not in ELSEWHERE and python_blocks(page.read_text("utf-8"))
]


def printed(code: str, folder: Path) -> str:
    """What a program prints."""
    program = folder / "program.py"
    program.write_text(code, "utf-8")
    command = [sys.executable, str(program)]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    blocks = python_blocks(page.read_text("utf-8"))
    # A program that starts processes is a module of its own, because they import it.
    programs = [block for block in blocks if "__main__" in block.code]
    others = [block for block in blocks if block not in programs]
    outputs = printed("".join(f"{block.code}\nprint({_MARK!r})\n" for block in others), tmp_path).split(f"{_MARK}\n")
    for block, output in [
        *zip(others, outputs, strict=False),
        *((one, printed(one.code, tmp_path)) for one in programs),
    ]:
        assert block.output in (None, output), block.code
