"""Handlers and commands with a schema registry: every client reads the JSON behind the five bytes of the frame."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from schemas.replays import ReplaySelection
from streams.settings.model import Settings
from streams.topology import PAGES_SCORED, REPLAYS
from tests.kafka.installation import (
    CRAWLED,
    DEAD,
    SCORED,
    Installation,
    Installing,
    command,
    handlers_named,
    page,
    partitions_of,
    ran,
)
from tests.kafka.replays import replayed
from tests.schema_registry import SchemaRegistry, schema_registry

SCORE_PAGE = handlers_named("score_page")
FOREIGN = b"\0\0\0\x12\x34"
"""The frame of another producer, whose registry and schema are not known here."""


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry() as running:
        running.first_id = 300  # its bytes are not UTF-8
        yield running


@pytest.fixture
async def plain(installing: Installing) -> Installation:
    """An installation without a registry."""
    return await installing(topics=[REPLAYS])


@pytest.fixture
def assay(plain: Installation, registry: SchemaRegistry) -> Installation:
    """The same with one."""
    kafka = plain.settings.kafka.model_copy(update={"schema_registry_url": registry.url})
    return replace(plain, settings=plain.settings.model_copy(update={"kafka": kafka}))


async def consumed(settings: Settings, topic: str) -> list[bytes]:
    """The values of a topic, as any consumer of Kafka gets them."""
    name = settings.kafka.topic_prefix + topic
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka.bootstrap_servers, isolation_level="read_committed")
    await consumer.start()
    try:
        places = [TopicPartition(name, number) for number in await partitions_of(settings, name)]
        consumer.assign(places)
        await consumer.seek_to_beginning(*places)
        ends, values = await consumer.end_offsets(places), []
        while any([await consumer.position(place) < ends[place] for place in places]):
            for records in (await consumer.getmany(timeout_ms=200)).values():
                values += [record.value for record in records]
        return values
    finally:
        await consumer.stop()


def checked(registry: SchemaRegistry, value: bytes) -> Any:
    """The document of a framed value, which fits the schema of its id."""
    assert value[:1] == b"\0"
    document = json.loads(value[5:])
    jsonschema.Draft202012Validator(registry.schemas[int.from_bytes(value[1:5])]).validate(document)
    return document


async def test_a_handler_reads_and_writes_framed_values(
    assay: Installation, plain: Installation, registry: SchemaRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    avro, invalid = FOREIGN + b"\x02\x06\xff", FOREIGN + b'{"url": 7}'
    (key, framed_one), (other, plain_one) = page(1), page(2)
    await assay.feed([(key, FOREIGN + framed_one), (other, plain_one), (b"k", avro), (b"k", invalid)])
    await assay.drain(*SCORE_PAGE)

    values = await consumed(assay.settings, SCORED)
    assert {checked(registry, value)["url"] for value in values} == {key.decode(), other.decode()}
    assert registry.subjects.keys() == {f"{assay.prefix}{SCORED}-value"}
    assert sorted(await consumed(assay.settings, DEAD)) == [avro, invalid]

    # Commands need no registry for reading.
    _, out, _ = await command(plain.settings, capsys, "tail", SCORED, "--from", "earliest", "--no-follow", "--json")
    assert {json.loads(line)["value"]["url"] for line in out.splitlines()} == {key.decode(), other.decode()}
    _, out, _ = await command(plain.settings, capsys, "dlq", "list", "--each", "--json")
    assert "schema id 4660) and is not JSON" in out
    names = re.findall(r"score_page/\d+/\d+", out)
    shown = [await command(plain.settings, capsys, "dlq", "show", name) for name in names]
    assert sorted("{'base64': 'AAAAEjQCBv8='}" in out for _, out, _ in shown) == [False, True]
    assert sorted('{"url": 7}' in out for _, out, _ in shown) == [False, True]
    await plain.set_back(SCORE_PAGE[0])
    await plain.drain(*SCORE_PAGE)
    values = await consumed(assay.settings, SCORED)
    assert [value[:1] for value in values].count(b"{") == 2


async def test_what_a_replay_writes_is_framed(assay: Installation, registry: SchemaRegistry) -> None:
    await assay.feed([page(number) for number in range(3)])
    await assay.drain(*SCORE_PAGE)
    tiers = {checked(registry, value)["tier"] for value in await consumed(assay.settings, SCORED)}
    plan = await replayed(assay.settings, "score_page", selection=ReplaySelection(tiers=tuple(tiers)))
    assert plan.state == "finished"
    values = await consumed(assay.settings, f"{SCORED}.replay.again")
    assert {checked(registry, value)["url"] for value in values} == {page(number)[0].decode() for number in range(3)}
    assert len(registry.schemas) == 1
    # The ledger of replays is read by Assay only.
    assert all(value.startswith(b"{") for value in await consumed(assay.settings, REPLAYS.name))


@pytest.mark.parametrize("run", [[], ["--run-id", "november"]], ids=["live", "backfill"])
async def test_published_events_are_framed_and_raw_pages_are_not(
    assay: Installation,
    registry: SchemaRegistry,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    run: list[str],
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "1.html").write_bytes(b"<p>raw")
    (tmp_path / "pages.jsonl").write_bytes(page(1)[1] + b"\n")
    sources = [str(tmp_path / "pages.jsonl"), str(tmp_path / "pages")]
    url = {"kafka__schema_registry_url": registry.url}
    status, _, err = await command(assay.settings, capsys, "publish", CRAWLED, *sources, *run, **url)
    assert (status, err) == (0, "")
    await assay.settle(CRAWLED)
    first, second = sorted(await consumed(assay.settings, CRAWLED))
    assert (checked(registry, first)["url"], second) == (page(1)[0].decode(), b"<p>raw")


@pytest.mark.parametrize("reason", ["incompatible", "unreachable"])
async def test_a_worker_does_not_start_without_its_schemas(
    assay: Installation, registry: SchemaRegistry, reason: str
) -> None:
    await assay.feed([page(1)])
    url, says = registry.url, "set the compatibility of the subject to NONE"
    registry.incompatible.add(f"{assay.prefix}{PAGES_SCORED.name}-value")
    if reason == "unreachable":
        url, says = "http://127.0.0.1:1", "start it, see ASSAY_KAFKA__SCHEMA_REGISTRY_URL"
    flags = {"kafka__schema_registry_url": url, "kafka__schema_registry_seconds": 0}
    status, _, err = await ran(assay.settings, "run", "score_page", "--drain", **flags)
    [line] = [line for line in err.splitlines() if line.startswith("assay run: ")]
    assert status == 1
    assert says in line
    assert await consumed(assay.settings, SCORED) == []
    assert sum((await assay.committed()).values()) == 0
