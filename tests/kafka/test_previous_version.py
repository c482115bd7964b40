"""A worker of this version and one of the previous version in one group, as during a roll-out or a rollback."""

import asyncio
import contextlib
import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import GroupCoordinatorNotAvailableError

from schemas.pages import ScoredPage
from streams.kafka.clients import make_admin, opened
from streams.topology import HANDLERS
from tests.kafka.installation import CRAWLED, DEAD, GROUP, SCORED, Installation, installed, page, until
from tests.kafka.versions import assay_of, code_of, previous_revision
from tests.samples import ROOT

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
