"""Backfills on a real Kafka: killed at any moment, run twice at once, resumed with changed input."""

import asyncio
import gzip
import json
import random
import signal
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from streams.publish.sending import RunLog
from streams.publish.walk import Position
from streams.settings.model import Settings
from streams.topology import PAGES_CRAWLED
from streams.topology.codec import OutputRecord
from tests.kafka.installation import Installation, Installing, assay_command, command, until

PAGES = PAGES_CRAWLED.name
KEYS = 37


@pytest.fixture
async def installation(installing: Installing) -> Installation:
    return await installing()


def write_pages(path: Path, count: int, first: int = 0) -> None:
    """Pages of few addresses, so that the order of one key's records can be seen."""
    lines = [
        json.dumps({"url": f"https://a.example/{number % KEYS}", "html": f"<p>{number} " + "text " * 40})
        for number in range(first, first + count)
    ]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "at") as file:
        file.write("".join(line + "\n" for line in lines))


async def numbers(installation: Installation) -> dict[bytes, list[int]]:
    """The numbers of the pages in the topic, by key, in their order."""
    found = defaultdict(list)
    for record in await installation.read(PAGES):
        found[record.key].append(int(json.loads(record.value)["html"].split()[0][3:]))
    return found


def everything(count: int) -> dict[bytes, list[int]]:
    return {f"https://a.example/{key}".encode(): list(range(key, count, KEYS)) for key in range(KEYS)}


Published = tuple[int, dict[str, Any], str]
Publish = Callable[..., Awaitable[Published]]


@pytest.fixture
def publish(capsys: pytest.CaptureFixture[str]) -> Publish:
    """Publishes in this process: exit status, summary and standard error."""

    async def run(settings: Settings, *arguments: str) -> Published:
        status, out, err = await command(settings, capsys, "publish", PAGES, *arguments, "--json")
        return status, json.loads(out) if out.strip() else {}, err

    return run


async def begun(settings: Settings, run: str) -> None:
    """Waits for the first commit of a run."""
    log = RunLog(settings, PAGES_CRAWLED, run)

    async def known() -> bool:
        return await log.read() is not None

    await until(known)


@pytest.mark.slow
async def test_publish_killed_five_times_writes_once_in_order(
    installation: Installation, publish: Publish, tmp_path: Path
) -> None:
    """The process is killed at random moments, and then resumed."""
    settings, count = installation.settings, 20_000
    sources = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    write_pages(sources[0], count // 2)
    write_pages(sources[1], count - count // 2, first=count // 2)
    words = ("publish", PAGES, *map(str, sources), "--run-id", "five")
    log, chance, seen = RunLog(settings, PAGES_CRAWLED, "five"), random.Random(5), [0]

    async def moved() -> bool:
        position = await log.read()
        return position is not None and position.published > seen[-1]

    for _ in range(5):
        async with assay_command(settings, *words, "--rate", "600") as process:
            await until(moved)
            await asyncio.sleep(chance.random() * 0.3)
            process.send_signal(signal.SIGKILL)
            assert await process.wait() == -signal.SIGKILL
        position = await log.read()
        assert position is not None
        seen.append(position.published)
    assert seen == sorted(set(seen))
    assert seen[-1] < count, "it was faster than its killer"
    status, told, err = await publish(settings, *words[2:])
    assert (status, told["run_published"], told["run_refused"]) == (0, count, 0)
    assert f"resuming run five: {seen[-1]} published, 0 refused before" in err
    assert await numbers(installation) == everything(count)
    assert {dict(record.headers)["assay_run"] for record in await installation.read(PAGES)} == {b"five"}


async def test_a_second_copy_fences_the_first_and_nothing_is_doubled(
    installation: Installation, publish: Publish, tmp_path: Path
) -> None:
    settings, count = installation.settings, 3000
    write_pages(tmp_path / "a.jsonl", count)
    arguments = (str(tmp_path / "a.jsonl"), "--run-id", "twice")
    async with assay_command(settings, "publish", PAGES, *arguments, "--rate", "100") as first:
        await begun(settings, "twice")
        status, told, err = await publish(settings, *arguments)
        assert (status, told["run_published"]) == (0, count), err
        _, first_err = await asyncio.wait_for(first.communicate(), 60)
        assert first.returncode == 1
    assert "another copy of run twice has taken over, so this one ends" in first_err.decode()
    assert await numbers(installation) == everything(count)


async def test_ctrl_c_says_how_to_resume_and_a_finished_run_is_empty(
    installation: Installation, publish: Publish, tmp_path: Path
) -> None:
    settings = installation.settings
    write_pages(tmp_path / "my pages.jsonl", 500)
    path = str(tmp_path / "my pages.jsonl")
    async with assay_command(settings, "publish", PAGES, path, "--run-id", "c", "--rate", "50", "--json") as process:
        await begun(settings, "c")
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert process.returncode == 130
    first = json.loads(out)
    assert err.decode() == f"assay publish: stopped; to resume: assay publish {PAGES} '{path}' --resume c --rate 50\n"
    status, told, _ = await publish(settings, path, "--resume", "c")
    assert (status, told["published"] + first["published"], told["run_published"]) == (0, 500, 500)
    write_pages(tmp_path / "my pages.jsonl", 20, first=500)
    for more in (20, 0):
        status, told, _ = await publish(settings, path, "--resume", "c")
        assert (status, told["published"]) == (0, more)
    assert await numbers(installation) == everything(520)


def record(number: int) -> OutputRecord:
    return OutputRecord(PAGES, b"k", str(number).encode(), ())


async def test_a_commit_whose_outcome_is_not_known_is_looked_up(installation: Installation) -> None:
    """The cluster has it, the answer was lost: it must not be written again. It has not: it must be."""
    log = RunLog(installation.settings, PAGES_CRAWLED, "doubt", sleep=lambda _: asyncio.sleep(0))
    one, two = Position(entries=1, published=1), Position(entries=2, published=2)
    assert await log.open() is None
    write = log._writer.write
    outcomes = iter(("after", "before"))

    async def doubtful(*arguments: Any, **named: Any) -> None:
        match next(outcomes, None):
            case "after":
                await write(*arguments, **named)
                raise TimeoutError
            case "before":
                raise TimeoutError
        await write(*arguments, **named)

    log._writer.write = doubtful  # type: ignore[method-assign]
    await log.commit([record(1)], Position(), one)
    await log.commit([record(2)], one, two)
    await log.close()
    assert [record.value for record in await installation.read(PAGES)] == [b"1", b"2"]
    assert await log.read() == two
