"""Twenty thousand malformed records between good ones, through the real command on a real Kafka.

Every record is accounted for: scored or classified once, or kept once as a dead letter with its reason and its bytes.
The test asks the codec which records can be decoded; the others must be refused for the codec's reason.
"""

import asyncio
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import pytest
from aiokafka import ConsumerRecord

from schemas.dead import KEPT_BYTES, DeadLetter, dead_letter_topic
from schemas.event import Provenance
from schemas.outcome import Dead
from streams.kafka.clients import make_producer, opened
from streams.topology import Handler, handler_named
from streams.topology.codec import decode
from tests.kafka.installation import Installation, Installing, handlers_named, process
from tests.kafka.malformed import Input, enormous, good_batch, good_page, malformed
from tests.samples import instance

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]

MEMORY_LIMIT_KIB = 400 * 1024
MARGIN_KIB = 20 * 1024
"""What the last quarter of a run may typically take beyond the second: half of what is kept of each record."""
Place = tuple[int, int]
"""Partition and offset."""


def mixed(handler: str, bad: int) -> Iterator[Input]:
    """Good ones evenly among the bad ones, and for pages some that are enormous."""
    good = good_page if handler == "score_page" else good_batch
    for number, record in enumerate(malformed(seed=20, count=bad, good=good)):
        yield record
        if number % 20 == 0:
            yield good(number)
        if handler == "score_page" and number % 1000 == 500:
            yield enormous(number // 1000)


async def write(assay: Installation, topic: str, inputs: Iterable[Input]) -> dict[Place, Input]:
    """Writes records; returns them by their place."""
    written: dict[Place, Input] = {}
    async with opened(make_producer(assay.settings.kafka, None, "feed")) as producer:
        remaining = iter(inputs)
        while some := list(itertools.islice(remaining, 500)):
            sent = [await producer.send(assay.prefix + topic, i.value, key=i.key, headers=i.headers) for i in some]
            for record, at in zip(some, await asyncio.gather(*sent), strict=True):
                written[at.partition, at.offset] = record
    return written


async def run(assay: Installation, *handlers: str) -> tuple[int, list[int], str]:
    """``assay run HANDLER… --drain`` as a process: exit status, memory over time in KiB, and what it said."""
    started = await process(
        assay.settings,
        "run",
        *handlers,
        "--drain",
        stderr=asyncio.subprocess.STDOUT,
        logs__level="error",
        workers__processes=1,
        dlq__max_share=1,
    )
    memory: list[int] = []

    async def sample() -> None:
        status = Path(f"/proc/{started.pid}/status")
        while True:
            text = status.read_text()  # noqa: ASYNC240 - no disk is behind it
            if found := [line for line in text.splitlines() if line.startswith("VmRSS")]:
                memory.append(int(found[0].split()[1]))
            await asyncio.sleep(0.1)

    sampling = asyncio.create_task(sample())
    try:
        said, _ = await started.communicate()
    finally:
        sampling.cancel()
        await asyncio.gather(sampling, return_exceptions=True)
        if started.returncode is None:
            started.kill()
            await started.wait()
    assert started.returncode is not None
    return started.returncode, memory, said.decode("utf-8", "replace")


async def account(assay: Installation, handler: Handler, written: dict[Place, Input]) -> Counter[str]:
    """Compares the result of every record with the codec and the handler; returns the counts by result."""
    topic = assay.prefix + handler.consumes.name
    rules = assay.settings.rules(handler.rules)
    causes = {Provenance.of(i.headers, f"{topic}/{at[0]}/{at[1]}").identity: at for at, i in written.items()}
    assert len(causes) == len(written)
    answered: Counter[Place] = Counter()
    for record in await assay.read(handler.emits[0].name):
        answered[causes[dict(record.headers)["ce_causationid"].decode()]] += 1
    letters: dict[Place, tuple[ConsumerRecord, DeadLetter]] = {}
    for record in await assay.read(dead_letter_topic(handler.consumes.name, handler.group)):
        letter = DeadLetter.of(record.headers)
        assert (letter.partition, letter.offset) not in letters, "buried twice"
        letters[letter.partition, letter.offset] = (record, letter)
    ends: Counter[str] = Counter()
    for place, sent in written.items():
        if place in letters:
            record, letter = letters[place]
            assert not sent.good
            assert answered[place] == 0, "answered and buried"
            event = decode(handler.consumes, sent.value, sent.headers, None, sent.key)
            outcome = instance(Dead, event if isinstance(event, Dead) else handler.fn(event, rules))
            assert letter.reason == outcome.reason.value
            assert kept(record, sent, letter)
            ends[letter.reason] += 1
        else:
            assert answered[place] == 1
            ends["good" if sent.good else "handled"] += 1
    return ends


def kept(record: ConsumerRecord, sent: Input, letter: DeadLetter) -> bool:
    """Whether a dead letter has the record's key and bytes, or the beginning and digest of what no topic takes."""
    if letter.original_size is None:
        return bool((record.key, record.value) == (sent.key, sent.value))
    value = sent.value or b""
    digest = hashlib.sha256(value).hexdigest()
    is_beginning = record.value == value[:KEPT_BYTES]
    return bool(is_beginning and (letter.original_size, letter.original_sha256) == (len(value), digest))


async def test_each_record_is_answered_or_dead_once_with_flat_memory(installing: Installing) -> None:
    assay = await installing(handlers_named("score_page", "classify_results"))
    handlers = [handler for name in ("score_page", "classify_results") if (handler := handler_named(name))]
    written = {
        "score_page": await write(assay, handlers[0].consumes.name, mixed("score_page", 20_000)),
        "classify_results": await write(assay, handlers[1].consumes.name, mixed("classify_results", 5_000)),
    }
    status, memory, said = await run(assay, *written)
    assert status == 0, said
    ends = {handler.name: await account(assay, handler, written[handler.name]) for handler in handlers}
    assert ends["score_page"]["good"] == 1000
    assert ends["classify_results"]["good"] == 250
    assert sum(sum(counts.values()) for counts in ends.values()) == 26_270
    for counts in ends.values():
        # Every kind of end is there, or the records were not bad enough.
        assert min(counts["undecodable"], counts["invalid"], counts["handled"]) > 500
    assert ends["score_page"]["too_large"] >= 15
    assert not {"handler_bug", "output_invalid", "output_too_large"} & {reason for c in ends.values() for reason in c}
    # Single large pages make peaks anywhere, so typical values are compared; the first quarter has the start in it.
    _, second, _, last = (memory[len(memory) * n // 4 : len(memory) * (n + 1) // 4] for n in range(4))
    assert median(last) < median(second) + MARGIN_KIB
    assert max(memory) < MEMORY_LIMIT_KIB
