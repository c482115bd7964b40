"""A worker of this version and one of the previous version in one group, as during a roll-out or a rollback."""

import asyncio
import contextlib
import io
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import GroupCoordinatorNotAvailableError

from schemas.pages import ScoredPage
from streams.kafka.clients import make_admin, opened
from streams.settings.model import Settings
from streams.topology import HANDLERS
from tests.kafka.installation import CRAWLED, DEAD, GROUP, SCORED, Installation, environment_of, installed, page, until
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


pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

_PARSED = """
import sys
from schemas.pages import ScoredPage
for line in sys.stdin:
    print(ScoredPage.model_validate_json(line).url)
"""


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the version before this one."""
    return code_of(previous_revision(), tmp_path_factory.mktemp("previous"))


def worker(
    assay: Installation, tree: Path, state: Path
) -> contextlib.AbstractAsyncContextManager[asyncio.subprocess.Process]:
    """``assay run score_page`` of the code in a folder."""
    return assay_of(tree, state, assay.settings, "run", "score_page", kafka__session_timeout_seconds=4)


async def shares(assay: Installation) -> list[int]:
    """How many partitions each member of the group holds; empty while they are being assigned."""
    async with opened(make_admin(assay.settings.kafka)) as admin:
        try:
            [described] = await admin.describe_consumer_groups([assay.prefix + GROUP])
        except GroupCoordinatorNotAvailableError:  # the first member has not made it yet
            return []
    [(_, _, state, _, _, members, *_)] = described.groups
    if state != "Stable":
        return []
    held = [ConsumerProtocolMemberAssignment.decode(io.BytesIO(assignment)) for *_, assignment in members]
    return [sum(len(numbers) for _, numbers in member.assignment) for member in held]


async def test_two_versions_share_a_group_and_take_over(
    kafka: str, topic_prefix: str, previous: Path, tmp_path: Path
) -> None:
    score_page = HANDLERS[0]
    partitions = score_page.consumes.partitions
    assay = await installed(kafka, topic_prefix, [score_page], partitions=partitions)
    fed = 0

    async def feed(count: int) -> None:
        nonlocal fed
        await assay.feed(page(number) for number in range(fed, fed + count))
        fed += count

    async def answered() -> bool:
        return len(await assay.read(SCORED)) >= fed

    async def both() -> bool:
        return await shares(assay) == [partitions // 2] * 2

    async with worker(assay, previous, tmp_path) as old:
        async with worker(assay, ROOT, tmp_path) as new:
            await until(both, seconds=120)
            await feed(100)
            await until(answered)
            # The rollback: the new worker stops cleanly, the old one continues from its offsets.
            await feed(100)
            new.terminate()
            assert await new.wait() == 0
            await until(answered)
        async with worker(assay, ROOT, tmp_path) as new:
            await until(both, seconds=120)
            # The old one dies in the middle of its work, the new one takes over.
            await feed(200)
            old.kill()
            await feed(100)
            await until(answered, seconds=120)
            new.terminate()
            assert await new.wait() == 0, (tmp_path / "worker.log").read_text()

    results = await assay.read(SCORED)
    assert Counter(record.key for record in results) == Counter(page(number)[0] for number in range(fed))
    assert await assay.read(DEAD) == []
    assert sum((await assay.committed()).values()) == sum((await assay.ends(CRAWLED)).values())
    lines = b"".join(record.value + b"\n" for record in results)
    parsed = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", _PARSED], cwd=previous, input=lines, capture_output=True, check=False
    )
    assert parsed.returncode == 0, parsed.stderr.decode()
    assert parsed.stdout.decode().split() == [ScoredPage.model_validate_json(record.value).url for record in results]
