"""Hostile input against ``assay run`` on a real Kafka: a worker continues after it and always reports its true state.

Each bad record is written before a good one, into the same partition. Its expected result is listed with it.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import pytest
from aiokafka import TopicPartition

from schemas.dead import DeadLetter, dead_letter_topic
from streams.kafka.clients import make_producer, opened
from streams.topology import REPLAYS, Handler
from tests.kafka.batches import Record, batch, bomb, lz4_announcing, numbered, write, zstd_announcing
from tests.kafka.installation import Installation, Installing, ran
from tests.kafka.malformed import MIB, PAGE, Input, good_batch, good_page
from tests.kafka.worker import Worker
from tests.samples import the_handler

URL = "https://hostile.example/page"
BLANKS = " " * 1_000_000
RAW = [("assay_url", URL.encode()), ("content-type", b"text/html; charset=utf-8")]
NARROW_PAGE = b"<meta" * 79 + b"charset=" + b" " * 3690 + b"!<p>text</p>"
"""4 KB, in which 79 searches for a charset begin."""

_CODES = "\\x5c" + "x5c" * 5
BACKSLASHES = "harbour festival " + (_CODES + "x5<b>c") * 2 + "x5c" * 5 + "x41" + "\\" * 2000
"""Codes that encode codes, with tags between their parts, before a run of backslashes."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A batch to write, and the expected result of each of its records.

    Attributes:
        name: What it is.
        data: The batch, as bytes for the wire.
        records: How many records it has.
        ends: ``emit``, or the reason of a dead letter.
    """

    name: str
    data: bytes
    ends: str
    records: int = 1


def _one(
    name: str, ends: str, value: bytes | None, *headers: tuple[str, bytes | None], key: bytes | None = b"k"
) -> Hostile:
    return Hostile(name, batch((key, value, headers)), ends)


def _json(name: str, ends: str, **fields: Any) -> Hostile:
    page = {"url": URL, "html": PAGE, **fields}
    return _one(name, ends, json.dumps({k: v for k, v in page.items() if v is not None}).encode())


def packed(small: Record) -> Iterator[Hostile]:
    """Batches that are enormous when they are unpacked, or of a good record, and with the wrong size or none."""
    yield Hostile("zstd, 700 MB", bomb("zstd", 700_000_000), "undecodable")
    yield Hostile("zstd, 700 MB, with the largest window", bomb("zstd", 700_000_000, window_log=27), "undecodable")
    for codec in ("gzip", "lz4", "snappy"):
        yield Hostile(f"{codec}, 200 MB", bomb(codec, 200_000_000), "undecodable")
    yield Hostile("zstd, no size", batch(small, codec="zstd", pack=zstd_announcing(None)), "emit")
    yield Hostile("lz4, 10 bytes", batch(small, codec="lz4", pack=lz4_announcing(10)), "undecodable")
    yield Hostile("lz4, 2**62 bytes", batch(small, codec="lz4", pack=lz4_announcing(1 << 62)), "undecodable")
    many = batch(*[(b"k", bytes(7 * MIB), RAW)] * 10, codec="zstd")
    yield Hostile("ten pages of 7 MiB in one batch", many, "undecodable", records=10)


def pages() -> Iterator[Hostile]:
    """Records for ``pages.crawled.v1``."""
    html = PAGE.encode()
    blanks = f"text/html; charset={BLANKS}!"
    yield _one("charset in a header, behind blanks", "emit", html, RAW[0], ("content-type", blanks.encode()))
    yield _json(
        "charset in a field, behind blanks",
        "emit",
        html=None,
        html_base64=b64encode(html).decode(),
        content_type=blanks,
    )
    yield _json("charset in a page of 4 KB", "emit", html=None, html_base64=b64encode(NARROW_PAGE).decode())
    yield _one("charset in a raw page of 4 KB", "emit", NARROW_PAGE, *RAW)
    yield _one("backslashes", "emit", f"<title>{escape(BACKSLASHES)}</title><p>{escape(BACKSLASHES)}".encode(), *RAW)
    yield _one("depth 200,000", "undecodable", b"[" * 200_000 + b"]" * 200_000)
    yield _one("elements in elements, 1 MB", "too_complex", b"<div>" * 200_000, *RAW)
    yield _json("an address of 9 KB", "invalid", url="https://hostile.example/" + "a" * 9000)
    yield _one("3,000 headers of 1 KB", "emit", html, *RAW, *[(f"h{n}", b"x" * 1024) for n in range(3000)])
    yield _one("one header, 3,000 times", "emit", html, *RAW, *[("assay_context", b"x" * 1024)] * 3000)
    yield _one(
        "headers that are no UTF-8", "emit", html, *RAW, ("traceparent", b"\xff\xfe"), ("assay_run", b"\xf8\x88")
    )
    yield _one("NUL bytes", "undecodable", bytes(1000))
    yield _json("NUL in text", "unreadable_page", html="<title>\0</title><p>" + "\0text " * 1000)
    yield _json("the year 1", "emit", fetched_at="0001-01-01T00:00:00+14:00")
    yield _json("10**30", "emit", status=10**30)
    yield _one("a tombstone", "undecodable", None)
    yield _one("a tombstone that says it is unreadable", "undecodable", None, ("assay_unreadable", b"\xff forged"))
    yield _one("a page that says it is unreadable", "emit", html, *RAW, ("assay_unreadable", b"forged"))
    yield _one(
        "notes of a retry",
        "emit",
        html,
        *RAW,
        ("x-orig-topic", b"t"),
        ("x-orig-offset", b"-1"),
        ("x-not-before", b"9" * 30),
        ("x-attempt", b"9" * 30),
    )
    yield _one("neither key nor value", "undecodable", None, key=None)
    yield _one(
        "bytes that are no base64", "invalid", b'{"url":"https://hostile.example/","html_base64":"\xe2\x82\xac"}'
    )
    yield _one(
        "8 MB of links",
        "emit",
        b"".join(b'<a href="http://d%d.example.org/">x</a>' % n for n in range(180_000)),
        *RAW,
    )
    yield _one(
        "8 MB of metadata",
        "too_complex",
        b"".join(b'<meta name=x%d content="y">' % n for n in range(250_000)),
        *RAW,
    )
    yield _one("8 MB and one byte", "too_large", bytes(8 * MIB + 1), *RAW)
    yield Hostile("an offset of 2**32", batch((b"k", html, RAW), pack=numbered(b"\x80\x80\x80\x80\x20")), "undecodable")
    wide = (b"a key that is read as an offset", html, RAW)
    odd = batch(wide, wide, pack=lambda data: data[:2] + b"\x80" + data[3:])
    yield Hostile("attributes that only the broker can read", odd, "undecodable", records=2)


def batches() -> Iterator[Hostile]:
    """Records for ``retrieval.batches.v1``."""
    fine = json.loads(good_batch(1).value or b"")
    result = fine["retrievedContent"][0]
    yield Hostile(
        "150,000 results",
        batch((b"k", json.dumps({**fine, "retrievedContent": [{"url": "https://a.example/"}] * 150_000}).encode(), [])),
        "invalid",
    )
    yield Hostile(
        "backslashes",
        batch(
            (
                b"k",
                json.dumps(
                    {**fine, "retrievedContent": [{**result, "title": BACKSLASHES, "content": BACKSLASHES}] * 20}
                ).encode(),
                [],
            )
        ),
        "emit",
    )


pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]

MEMORY_MIB = 400
SCORE, CLASSIFY = the_handler("score_page"), the_handler("classify_results")


async def feed(
    assay: Installation, handler: Handler, bad: Iterable[Hostile], good: Sequence[Input]
) -> dict[int, tuple[str, str]]:
    """Writes each bad batch and a good record behind it to one partition.

    Returns:
        By offset: the kind of record, and its expected result.
    """
    place = TopicPartition(assay.prefix + handler.consumes.name, 0)
    expected: dict[int, tuple[str, str]] = {}
    async with opened(make_producer(assay.settings.kafka, None, "feed")) as producer:
        for number, its in enumerate(bad):
            first = await write(producer, place, its.data)
            expected |= {first + n: (its.name, its.ends) for n in range(its.records)}
            behind = good[number % len(good)]
            at = await producer.send_and_wait(
                place.topic, behind.value, behind.key, place.partition, headers=behind.headers
            )
            expected[at.offset] = (f"good, behind {its.name}", "emit")
    return expected


async def ends_of(assay: Installation, handler: Handler) -> dict[int, str]:
    """The result of each record of partition 0, by offset: ``emit``, or the reason of its dead letter."""
    topic = assay.prefix + handler.consumes.name
    emitted = {
        dict(record.headers)["ce_causationid"].decode(): "emit"
        for record in await assay.read(*(its.name for its in handler.emits))
    }
    found = {int(place.split("/")[2]): end for place, end in emitted.items() if place.startswith(f"{topic}/0/")}
    for record in await assay.read(dead_letter_topic(handler.consumes.name, handler.group)):
        letter = DeadLetter.of(record.headers)
        assert letter.offset not in found
        found[letter.offset] = letter.reason
        assert letter.error
    return found


async def well(worker: Worker) -> None:
    """Fails where the worker was not healthy, and the same, all the time, or took too much memory."""
    assert worker.process.returncode is None, worker.lines
    assert await worker.rebalances() == worker.rebalances_at_start
    assert {probe.status for probe in worker.probes} == {200}
    assert worker.peak_mib < MEMORY_MIB


async def done(assay: Installation, worker: Worker, *handlers: Handler) -> None:
    """Waits until the groups have committed everything, or the worker has ended."""
    for handler in handlers:
        ends = await assay.ends(handler.consumes.name)
        async with asyncio.timeout(200):
            while (await assay.committed(handler.group)).get(0, 0) < ends[0]:
                assert worker.process.returncode is None, worker.lines
                await asyncio.sleep(0.3)


@pytest.mark.parametrize(
    ("handler", "bad", "good"),
    [(SCORE, pages, [good_page(0), good_page(1)]), (CLASSIFY, batches, [good_batch(1)])],
    ids=["score_page", "classify_results"],
)
async def test_worker_continues_after_every_hostile_record(
    installing: Installing, handler: Handler, bad: Callable[[], Iterable[Hostile]], good: Sequence[Input]
) -> None:
    assay = await installing((handler,))
    # On a slow or busy machine, 8 MB take more than the shipped 5 s.
    async with Worker(assay.settings, handler.name, workers__cpu_seconds="30") as worker:
        small = (good[-1].key, good[-1].value, good[-1].headers)
        expected = await feed(assay, handler, [*packed(small), *bad()], good)
        await done(assay, worker, handler)
        await well(worker)
    assert worker.process.returncode == 0
    came = await ends_of(assay, handler)
    assert [(name, end, came.get(at)) for at, (name, end) in expected.items() if came.get(at) != end] == []


HANGS = """
import asyncio, re
from streams.app.application import Application
start = Application.start

def hang():
    re.match("(a+)+$", "a" * 64 + "!")

async def start_and_hang(application):
    await start(application)
    asyncio.get_running_loop().call_later(2, hang)

Application.start = start_and_hang
from streams.cli.main import main
main()
"""
GETS_NOTHING = """
import asyncio
from aiokafka import AIOKafkaConsumer

async def getmany(*_, **__):
    await asyncio.sleep(0.05)
    raise MemoryError

AIOKafkaConsumer.getmany = getmany
from streams.cli.main import main
main()
"""


async def test_a_worker_that_hangs_in_c_code_ends_with_its_stack(installing: Installing) -> None:
    assay = await installing((SCORE,))
    async with Worker(assay.settings, SCORE.name, program=HANGS, kafka__session_timeout_seconds="6") as worker:
        assert await asyncio.wait_for(worker.process.wait(), 100) == 1
    said = "\n".join(worker.lines)
    assert said.index("Timeout (0:00:12)!") < said.index("/re/__init__.py") < said.index(" in hang")


async def test_stalled_worker_reports_unhealthy_and_exits(installing: Installing) -> None:
    assay = await installing((SCORE,))
    async with Worker(assay.settings, SCORE.name, program=GETS_NOTHING, pipeline__stalled_seconds="5") as worker:
        await asyncio.sleep(8)
        assert {probe.status for probe in worker.probes} == {200}, "nothing waits for it"
        await assay.feed([(good_page(1).key, good_page(1).value)])
        assert await asyncio.wait_for(worker.process.wait(), 100) == 1
    told = [probe.said for probe in worker.probes if probe.status == 503]
    assert told
    assert all(f"assay.score_page: {assay.prefix}pages.crawled.v1/" in said for said in told)
    assert all("has got no record for" in said for said in told)
    assert any("wedged" in line and "has got no record for" in line for line in worker.lines)


async def test_commands_report_records_that_they_cannot_read(installing: Installing) -> None:
    assay = await installing((SCORE,), [REPLAYS])
    large = Hostile("zstd, 200 MB", bomb("zstd", 200_000_000), "undecodable")
    letters = dead_letter_topic(SCORE.consumes.name, SCORE.group)
    for topic in (SCORE.consumes, SCORE.emits[0], replace(SCORE.consumes, name=letters), REPLAYS):
        await feed(assay, replace(SCORE, consumes=topic), [large], [good_page(0)])
    why = f"cannot be unpacked into {64 * MIB} bytes (kafka.max_unpacked_bytes)"
    status, output, errors = await command(
        assay, "tail", "pages.scored.v1", "--from", "earliest", "--no-follow", "--json"
    )
    unreadable, readable = (json.loads(line) for line in output.splitlines())
    assert (status, unreadable["offset"], unreadable["value"], readable["offset"]) == (0, 0, None, 1)
    assert why in unreadable["headers"]["assay_unreadable"]
    assert f"{assay.prefix}pages.scored.v1/0: the records from 0 to 0 cannot be read" in errors
    status, output, _ = await command(assay, "tail", "pages.scored.v1", "--from", "earliest", "--no-follow")
    assert (status, "unreadable record: undecodable" in output, why in output) == (0, True, True)
    status, _, errors = await command(assay, "export", "tsv")
    assert (status, "0/0: undecodable: the client can't read the record" in errors) == (1, True)
    status, output, _ = await command(assay, "lag", "score_page", "--json")
    assert status == 0
    assert {lag["topic"]: lag["records"] for lag in json.loads(output)["groups"]}["pages.crawled.v1"] == 2
    status, output, _ = await command(assay, "dlq", "list", "--each")
    assert (status, "score_page/0/0" in output) == (0, True)
    status, output, errors = await command(assay, "dlq", "redrive", "--json")
    assert status == 0, errors
    assert json.loads(output)["reasons"] == {"unreadable": 1, "no_origin": 1}
    status, _, errors = await command(assay, "replay", "run", "score_page", "--plan", "again", "--json")
    assert status == 0, errors
    status, output, _ = await command(assay, "dlq", "list", "--plan", "again", "--each")
    assert (status, why in output) == (0, True)


async def command(assay: Installation, *arguments: str) -> tuple[int | None, str, str]:
    """Runs a command; returns its status, output and errors, in which there is no traceback."""
    status, output, errors = await ran(assay.settings, *arguments)
    assert "Traceback" not in errors, errors
    return status, output, errors
