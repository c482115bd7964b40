"""The code of other commits, and workers that run it."""

import asyncio
import contextlib
import os
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import pytest

from streams.settings.model import Settings
from tests.kafka.installation import environment_of
from tests.samples import ROOT

PACKAGES = ("schemas", "handlers", "streams", "config")
_PROGRAM = "import streams; print(streams.__file__, flush=True); from streams.cli.main import main; main()"


def code_of(revision: str, folder: Path) -> Path:
    """The packages of a commit, in a folder; the test is skipped where the history is not available."""
    with tarfile.open(fileobj=BytesIO(_git("archive", revision, *PACKAGES))) as archive:
        archive.extractall(folder, filter="data")
    return folder


def previous_revision() -> str:
    """The newest release before this commit; without a release, the code before its last change."""
    tags = _git("tag", "--merged", "HEAD~1", "--sort=-version:refname").decode().split()
    changed = _git("rev-list", "--first-parent", "--max-count=1", "HEAD", "--", *PACKAGES).decode().strip()
    return tags[0] if tags else f"{changed}~1"


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"the version before can't be had: git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


@asynccontextmanager
async def assay_of(
    tree: Path, state: Path, settings: Settings, *words: str, **variables: object
) -> AsyncIterator[asyncio.subprocess.Process]:
    """``assay WORDS`` of the code in a folder, killed at the end if it still runs. It logs to ``state/worker.log``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    environment |= environment_of(settings, kafka__create_topics=False, **variables) | {"PYTHONPATH": str(tree)}
    with (state / "worker.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, *words,
            cwd=state, env=environment, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        assert Path((await process.stdout.readline()).decode().strip()) == tree / "streams" / "__init__.py"
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.communicate()
