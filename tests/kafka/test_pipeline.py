"""The pipeline on a real Kafka (R-006): transactions, order, dead letters, back pressure, restarts, fencing."""

import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from schemas.outcome import Emit, Outcome, Retry, RetryReason
from schemas.pages import CrawledPage, ScoredPage
from schemas.rules import Rules
from streams.kafka.clients import make_producer
from streams.pipeline.consumer import CountingConsumer
from streams.workers.settings import WorkersSettings
from tests.kafka.installation import (
    CRAWLED,
    DEAD,
    GROUP,
    SCORED,
    Installation,
    Installing,
    configure,
    installed,
    page,
    scored,
    scorer,
    until,
)
from tests.samples import instance
from tests.streams.workers.page_handlers import SCORER


def ids(records: list[ConsumerRecord]) -> list[str]:
    return [dict(record.headers)["ce_id"].decode() for record in records]


def urls(records: list[ConsumerRecord]) -> list[str]:
    return [ScoredPage.model_validate_json(record.value).url for record in records]


IN_BOTH_WAYS = pytest.mark.parametrize(
    "workers", [WorkersSettings(processes=0), WorkersSettings(processes=2)], ids=["inline", "children"]
)


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@IN_BOTH_WAYS
async def test_every_record_is_handled_once(assay: Installation, delivery: str, workers: WorkersSettings) -> None:
    await assay.feed([page(n) for n in range(500)], transactional=True)
    await assay.drain(SCORER, delivery=delivery, workers=workers)
    records = await assay.read(SCORED)
    assert sorted(urls(records)) == sorted(f"https://site.example/{n}" for n in range(500))
    assert len(set(ids(records))) == 500
    # Also past the markers of the transaction.
    assert await assay.committed() == {number: end for number, end in (await assay.ends()).items() if end}


async def test_records_of_a_key_keep_their_order(assay: Installation) -> None:
    records = [
        (f"key-{n % 7}".encode(), CrawledPage(url=f"https://x.example/{n % 7}", html="", context=str(n)).to_json())
        for n in range(300)
    ]

    def uneven(crawled: CrawledPage, rules: Rules) -> Outcome:
        if crawled.context is not None and int(crawled.context) % 5 == 0 and crawled.context not in seen:
            seen.add(crawled.context)
            return Retry(RetryReason.UNAVAILABLE, after_seconds=0.01)
        return scored(crawled, rules)

    seen: set[str] = set()
    await assay.feed(records)
    await assay.drain(scorer(uneven, concurrency=8))
    by_url: dict[str, list[int]] = defaultdict(list)
    for record in await assay.read(SCORED):
        event = ScoredPage.model_validate_json(record.value)
        by_url[event.url].append(int(event.context or ""))
    assert sum(map(len, by_url.values())) == 300
    for order in by_url.values():
        assert order == sorted(order)


async def test_a_zombie_is_fenced(assay: Installation) -> None:
    """A producer of the same input partition that was replaced can neither write nor move offsets."""
    name = f"{assay.prefix}{GROUP}.{assay.prefix}{CRAWLED}.0"
    old = make_producer(assay.settings.kafka, name, "old")
    await old.start()
    await old.begin_transaction()
    await (await old.send(assay.prefix + SCORED, b"{}", key=b"zombie"))
    async with assay.running(scorer()) as running:
        await until(lambda: running.groups[0].opened)
        partition = TopicPartition(assay.prefix + CRAWLED, 0)
        with pytest.raises(KafkaError):  # noqa: PT012 - which of the two calls learns of the fence is the broker's choice
            await old.send_offsets_to_transaction({partition: OffsetAndMetadata(99, "")}, assay.prefix + GROUP)
            await old.commit_transaction()
    await old.stop()
    assert await assay.read(SCORED) == []
    assert (await assay.committed()).get(0, 0) == 0


@IN_BOTH_WAYS
async def test_stop_commits_finished_records_without_repeats(assay: Installation, workers: WorkersSettings) -> None:
    await assay.feed([page(n) for n in range(2000)])
    async with assay.running(SCORER, workers=workers) as running:
        await until(lambda: sum(p.committed or 0 for p in running.groups[0].partitions.values()) > 50)
    assert running.drained
    first = len(await assay.read(SCORED))
    assert first > 0
    await assay.drain(scorer())
    assert Counter(urls(await assay.read(SCORED))) == Counter(f"https://site.example/{n}" for n in range(2000))


async def test_an_output_that_the_broker_refuses_becomes_a_dead_letter(kafka: str, topic_prefix: str) -> None:
    """A cluster whose topics take less than ours: found out only by the commit, one input at a time."""
    assay = await installed(kafka, topic_prefix)
    await configure(assay.settings, topic_prefix + SCORED, {"max.message.bytes": "20000"})

    def wordy(crawled: CrawledPage, rules: Rules) -> Outcome:
        noise = random.Random(1).randbytes(40_000).hex() if crawled.url.endswith("/3") else ""
        [event] = instance(Emit, scored(crawled, rules)).events
        return Emit((event.model_copy(update={"content": noise}),))

    await assay.feed([page(n) for n in range(8)])
    await assay.drain(scorer(wordy))
    [letter] = await assay.read(DEAD)
    assert dict(letter.headers)["x-reason"] == b"output_too_large"
    assert dict(letter.headers)["x-stage"] == b"encode"
    assert CrawledPage.model_validate_json(letter.value).url.endswith("/3")
    assert len(await assay.read(SCORED)) == 7


async def test_failed_commit_repeats_outputs_under_the_same_ids(
    installing: Installing, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = CountingConsumer.commit, 0

    async def unreliable(self: CountingConsumer, offsets: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % 3 == 1:
            raise KafkaError("the answer got lost before the commit")
        await real(self, offsets)
        if calls % 3 == 2:
            raise KafkaError("the answer got lost after the commit")

    monkeypatch.setattr(CountingConsumer, "commit", unreliable)
    assay = await installing([scorer()])
    await assay.feed([page(number) for number in range(300)])
    await assay.drain(scorer(), delivery="at_least_once")
    records = await assay.read(SCORED)
    outputs = {(record.key, dict(record.headers)["ce_id"]) for record in records}
    assert sorted(key.decode() for key, _ in outputs) == sorted(f"https://site.example/{n}" for n in range(300))
    assert len(records) > len(outputs), "at least one commit failed after its outputs"
    assert await assay.committed() == {number: end for number, end in (await assay.ends()).items() if end}
