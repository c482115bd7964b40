"""Child processes on a real Kafka: pages over their limits, killed children, and the end of a worker with its children.

Whatever happens, every other page is processed exactly once and in the order of its key.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest

from schemas.pages import CrawledPage, ScoredPage
from streams.app.application import Application
from tests.kafka.installation import DEAD, SCORED, Installation, Installing, until, until_killed
from tests.processes import below, end_of, running
from tests.streams.workers.page_handlers import SCORER

KEYS = 12
LIMITS = {"processes": 2, "cpu_seconds": 0.5, "wall_seconds": 10, "memory_mib": 300}
FAULTY = {
    **dict.fromkeys((50, 51, 333), ("hang", "took_too_long")),
    **dict.fromkeys((120, 340, 500), ("crash", "crashed")),
    **dict.fromkeys((180, 360, 599), ("memory 3000000000", "out_of_memory")),
}
"""By the number of a page: what it does, and the reason of its dead letter."""

WORKER = f"""
import asyncio, sys
from streams.app.application import Application
from streams.cli.run import stop_on_signals
from tests.kafka.installation import install
from tests.streams.workers.page_handlers import SCORER

async def main(bootstrap, prefix):
    stop = stop_on_signals()
    settings = install(bootstrap, prefix, workers={LIMITS})
    quick = settings.kafka.model_copy(update={{"session_timeout_seconds": 6.0}})
    application = Application(settings.model_copy(update={{"kafka": quick}}), [SCORER])
    await application.start()
    await stop.wait()
    await application.stop()
    assert application.drained

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture
async def assay(installing: Installing) -> Installation:
    return await installing(workers=LIMITS)


def pages(deeds: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """Pages of a few keys, with their number as context."""
    urls = [f"https://site-{number}.example/" for number in range(KEYS)]
    return [
        (url.encode(), CrawledPage(url=url, html=deed, context=str(number)).to_json())
        for number, deed in enumerate(deeds)
        for url in [urls[number % KEYS]]
    ]


async def assert_once_and_in_order(assay: Installation, expected: Iterable[int]) -> None:
    by_key: dict[str, list[int]] = defaultdict(list)
    for event in await assay.events(ScoredPage):
        by_key[event.url].append(int(event.context or ""))
    assert Counter(number for numbers in by_key.values() for number in numbers) == Counter(expected)
    assert all(numbers == sorted(numbers) for numbers in by_key.values())


async def dead(assay: Installation) -> dict[int, tuple[str, str]]:
    """The reason and the stage of each dead letter, by the number of its page."""
    found: dict[int, tuple[str, str]] = {}
    for letter in await assay.read(DEAD):
        number = int(CrawledPage.model_validate_json(letter.value).context or "")
        assert number not in found
        notes = {name: (value or b"").decode() for name, value in letter.headers}
        found[number] = notes["x-reason"], notes["x-stage"]
    return found


def total(application: Application, name: str) -> float:
    """The sum of a metric."""
    metrics = application.registry.collect()
    return sum(sample.value for metric in metrics for sample in metric.samples if sample.name == name)


def rebalances(application: Application) -> float:
    return total(application, "assay_rebalances_total")


def ended(application: Application) -> float:
    return total(application, "assay_child_processes_ended_total")


async def test_faulty_pages_are_dead_and_all_others_handled_once(assay: Installation) -> None:
    numbers = range(600)
    async with assay.running(SCORER) as application:
        [group] = application.groups
        await until(lambda: group.opened and group.partitions)
        before = rebalances(application)
        await assay.feed(pages(FAULTY[number][0] if number in FAULTY else "" for number in numbers))
        await assay.quiet(application)
        assert rebalances(application) == before > 0
        assert ended(application) == 3 + 2 * 3 + 2 * 3, "a page over its deadline is tried once, the others twice"
    await assay.settle_offsets(group.subscription.group)
    assert await dead(assay) == {number: (reason, "handle") for number, (_, reason) in FAULTY.items()}
    await assert_once_and_in_order(assay, set(numbers) - set(FAULTY))
    assert await assay.committed() == {number: end for number, end in (await assay.ends()).items() if end}


async def count_of(assay: Installation) -> int:
    """About as many pages as were scored: the markers of transactions count too."""
    return sum((await assay.ends(SCORED)).values())


async def more_than(assay: Installation, count: int) -> bool:
    return await count_of(assay) > count


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["is killed", "drains"])
async def test_no_process_outlives_a_worker_with_work(assay: Installation, number: signal.Signals) -> None:
    """A service manager sends SIGTERM to all processes of a worker: the children go on until the worker has drained."""
    await assay.feed(pages(["sleep 0.1"] * 120))
    kafka = assay.settings.kafka
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, kafka.bootstrap_servers, kafka.topic_prefix, stderr=PIPE, start_new_session=True
    )
    async with until_killed(started):
        await until(lambda: more_than(assay, 10))
        processes = running(below(started.pid))
        assert len(processes) == 3, "two children and their template"
        if number is signal.SIGKILL:
            started.kill()
        else:
            os.killpg(started.pid, number)
        _, told = await started.communicate()
        assert not await end_of(processes, 10)
        assert started.returncode == (-number if number is signal.SIGKILL else 0), told.decode()
    first = len(await assay.events(ScoredPage))
    assert 0 < first < 120
    await assay.drain(SCORER)
    assert await dead(assay) == {}
    await assert_once_and_in_order(assay, range(120))
