"""The commands of pages, run in order in one shell on a real Kafka; what they print is what the page says they print.

A block below ``<!-- run -->`` is run, and its output must match the block below ``<!-- prints -->``. In that block
``…`` matches anything within a line, and alone on a line any lines.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from streams.local_kafka.broker import free_port
from streams.local_kafka.install import cache_folder

pytestmark = pytest.mark.kafka

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"<!-- run -->\n```sh\n(.*?)\n```\n(?:<!-- prints -->\n```text\n(.*?)\n```\n)?", re.DOTALL)
_END = "=== end of block"
PAGES = [("../README.md", 2), ("tutorial.md", 12), ("query.md", 6)]
"""Pages in the folder of documents, and how many blocks each has at least."""


@dataclass(frozen=True)
class Block:
    """Commands, and what they print; None where that is not said."""

    line: int
    commands: str
    prints: str | None


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(text[: found.start()].count("\n") + 1, found[1], found[2]) for found in _BLOCK.finditer(text)]


def pattern(prints: str) -> str:
    """What a block prints as a regular expression over whole lines."""
    lines = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r"[ \t]*\n"
        for line in prints.splitlines()
    ]
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "least"), PAGES)
def test_what_a_page_says_is_what_happens(kafka: str, topic_prefix: str, tmp_path: Path, name: str, least: int) -> None:
    steps = blocks((DOCS / name).read_text("utf-8"))
    assert len(steps) >= least
    # README's commands are for the folder of a clone.
    (tmp_path / "schemas").symlink_to(DOCS.parent / "schemas")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environment = kept | {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ASSAY_KAFKA__BOOTSTRAP_SERVERS": kafka,
        "ASSAY_KAFKA__TOPIC_PREFIX": topic_prefix,
        "ASSAY_CACHE_DIR": str(cache_folder()),
        "ASSAY_HTTP__PORT": str(free_port()),
        "CHECKOUT": str(DOCS.parent),
        "COLUMNS": "120",
    }
    # Background processes of a page end with the shell; otherwise a page that fails half way would hang.
    script = "set -e\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + "".join(
        f"{step.commands}\necho '{_END}'\n" for step in steps
    )
    ran = subprocess.run(["bash"], input=script, env=environment, cwd=tmp_path, capture_output=True, text=True)
    printed = ran.stdout.replace(topic_prefix, "").split(f"{_END}\n")
    for step, output in zip(steps, printed, strict=False):
        if step.prints is not None:
            said = f"docs/{name}:{step.line} printed\n{output}\ninstead of\n{step.prints}\n{ran.stderr[-2000:]}"
            assert re.fullmatch(pattern(step.prints), output), said
    assert (ran.returncode, len(printed)) == (0, len(steps) + 1), f"{printed[-1]}\n{ran.stderr[-2000:]}"
    config = tmp_path / "assay-tutorial" / "prometheus.yml"
    if (promtool := shutil.which("promtool")) and config.exists():
        checked = subprocess.run([promtool, "check", "config", str(config)], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
