"""Measured processes: the measuring process starts them, one contestant at a time, and samples their memory.

The measuring process writes the records to Kafka before it.
"""

import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import psutil
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from streams.kafka.clients import connection, make_producer, opened
from streams.kafka.topics import create_topics
from streams.local_kafka.broker import LocalKafka
from streams.topology import Handler, Topic
from tools.bench.assay_worker import handler_of, settings_for
from tools.bench.child import Task
from tools.bench.work import NOTES, Record, load_pages, note, page_records

ROOT = Path(__file__).parent.parent.parent
RUN_SECONDS = 1800
SAMPLE_SECONDS = 0.5
QUIX_PYTHON = ROOT / ".assay" / "quix" / "bin" / "python"
Run = dict[str, float]
"""What a process told, and the highest memory of its children (PSS) from the first record on."""


async def feed_pages(kafka: LocalKafka, times: int) -> Task:
    return await _fed(kafka, f"pages{times}.", handler_of(""), page_records(load_pages(), times))


async def feed_notes(kafka: LocalKafka, count: int) -> Task:
    return await _fed(kafka, f"notes{count}.", handler_of(NOTES), ((*note(number), []) for number in range(count)))


async def _fed(kafka: LocalKafka, prefix: str, handler: Handler, records: Iterable[Record]) -> Task:
    settings = settings_for(kafka.bootstrap_servers, prefix).kafka
    source: Topic = handler.consumes
    target: Topic = handler.emits[0]
    await create_topics(settings, topics=(source, target), handlers=(handler,))
    count = 0
    async with opened(make_producer(settings, None, "bench")) as producer:
        for key, value, headers in records:
            await producer.send(prefix + source.name, value, key=key, headers=headers)
            count += 1
    return Task("", kafka.bootstrap_servers, prefix, source.name, target.name, count, kafka.pid or 0)


async def rewind(feed: Task, group: str) -> None:
    """Sets a group that has no members back to the beginning of a feed, so that it reads it once more."""
    settings, topic = settings_for(feed.bootstrap, feed.prefix).kafka, handler_of(feed.source).consumes
    partitions = [TopicPartition(feed.prefix + topic.name, number) for number in range(topic.partitions)]
    options = connection(settings) | {"group_id": feed.prefix + group, "enable_auto_commit": False}
    async with opened(AIOKafkaConsumer(**options)) as consumer:
        consumer.assign(partitions)
        await consumer.commit({partition: OffsetAndMetadata(0, "") for partition in partitions})


class RunFailedError(Exception):
    """A measured process ended badly, or did not do what it was to do."""


async def assay(feed: Task, delivery: str, children: int = 0) -> Run:
    await rewind(feed, handler_of(feed.source).group)
    run = await run_one("assay_worker", replace(feed, mode=delivery, children=children))
    if run["records"] != feed.records or run.get("retry", 0):
        raise RunFailedError(f"{feed.records} records went in, and this came of them: {run}")
    return run


async def bare(feed: Task, mode: str) -> Run:
    await rewind(feed, "bare")
    return await run_one("bare_worker", replace(feed, mode=mode))


async def quix(feed: Task) -> Run:
    await rewind(feed, "quix")
    return await run_one("quix_worker", feed, QUIX_PYTHON)


async def alone(mode: str) -> Run:
    return await run_one("alone_worker", Task(mode))


async def run_one(module: str, task: Task, python: Path | None = None) -> Run:
    process = await asyncio.create_subprocess_exec(
        *(str(python or sys.executable), "-m", f"tools.bench.{module}", json.dumps(asdict(task))),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    samples: list[tuple[float, float]] = []
    sampling = asyncio.create_task(_sample(process.pid, samples))
    try:
        async with asyncio.timeout(RUN_SECONDS):
            out, err = await process.communicate()
    finally:
        sampling.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = [line for line in out.decode().splitlines() if line.startswith("{")]
    if process.returncode or not lines:
        raise RunFailedError(f"{module} {task.mode}: exit {process.returncode}\n{err.decode()[-3000:]}")
    run: Run = json.loads(lines[-1])
    return run | {"children_peak_mb": max((memory for at, memory in samples if at >= run["began"]), default=0.0)}


async def _sample(pid: int, samples: list[tuple[float, float]]) -> None:
    while True:
        memory = 0.0
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    memory += child.memory_full_info().pss / 2**20
        samples.append((time.monotonic(), memory))
        await asyncio.sleep(SAMPLE_SECONDS)


def median_of(runs: Sequence[Run]) -> Run:
    """The median figures of repetitions, and the highest peaks of memory."""
    figures = {name: statistics.median(run.get(name, 0) for run in runs) for name in runs[0]}
    figures |= {name: max(run[name] for run in runs) for name in ("peak_mb", "children_peak_mb")}
    return {name: round(figure, 4) for name, figure in figures.items()}
