"""Publish, tail and topics as a user runs them: pipes, signals, large and foreign records, different clusters."""

import asyncio
import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka.admin import NewPartitions

from streams.cli.topics import run_topics
from streams.kafka.clients import make_admin, make_producer, opened
from streams.settings.model import Settings
from streams.topology import PAGES_CRAWLED, TOPIC_BYTES
from tests.command_line import Done, Ran
from tests.kafka.installation import DEAD, Installing, assay_command, command, configure, install, line_of, until

PAGES = PAGES_CRAWLED.name


def page(number: int) -> bytes:
    return json.dumps({"url": f"https://a.example/{number}", "html": "<p>text"}).encode() + b"\n"


async def test_what_comes_through_a_pipe_is_published_at_once(settings: Settings) -> None:
    async with (
        assay_command(settings, "tail", PAGES, "--from", "earliest", "--json") as tail,
        assay_command(settings, "publish", PAGES, "-", "--json") as publish,
    ):
        assert publish.stdin is not None
        publish.stdin.write(page(1) + b"no page\n" + page(2)[:9])
        assert (await line_of(tail))["key"] == "https://a.example/1"
        publish.stdin.write(page(2)[9:])
        assert (await line_of(tail))["key"] == "https://a.example/2"
        publish.stdin.close()
        answer = await line_of(publish)
        assert (answer["published"], answer["refused"]) == (2, 1)
        assert await publish.wait() == 1
        assert publish.stderr is not None
        assert (await publish.stderr.read()).startswith(b"assay publish: standard input:2: undecodable")


async def test_ctrl_c_ends_quietly_and_loses_nothing(settings: Settings) -> None:
    async with (
        assay_command(settings, "tail", PAGES, "--from", "earliest", "--json") as tail,
        assay_command(settings, "publish", PAGES, "-", "--json") as publish,
    ):
        assert publish.stdin is not None
        publish.stdin.write(page(1))
        await line_of(tail)
        said = []
        for process in (tail, publish):
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 130
            assert process.stderr is not None
            said.append((await process.stderr.read()).decode())
        assert said[0] == ""
        assert said[1].startswith("assay publish: interrupted; a second start publishes 1 records again")
        assert said[1].endswith(f"To be able to resume: assay publish {PAGES} - --run-id NAME\n")
        assert (await line_of(publish))["published"] == 1


async def test_a_reader_that_leaves_ends_tail_quietly(settings: Settings) -> None:
    async with assay_command(settings, "tail", PAGES, "--from", "earliest", "--json") as tail:
        producer = make_producer(settings.kafka, None, "test")
        await producer.start()
        await producer.send_and_wait(settings.kafka.topic_prefix + PAGES, b"{}")
        await line_of(tail)
        transport = tail._transport.get_pipe_transport(1)  # type: ignore[attr-defined]
        transport.close()
        for _ in range(3):
            await producer.send_and_wait(settings.kafka.topic_prefix + PAGES, b"{}")
        await producer.stop()
        assert await tail.wait() in (1, 141)
        assert tail.stderr is not None
        assert await tail.stderr.read() == b""


def feed(settings: Settings, topic: str, *values: bytes, partition: int = 0) -> None:
    async def send() -> None:
        async with opened(make_producer(settings.kafka, None, "test")) as producer:
            for value in values:
                name = settings.kafka.topic_prefix + topic
                await producer.send_and_wait(name, value, partition=partition, headers=[("x-reason", b"invalid")])

    asyncio.run(send())


@pytest.fixture
def ready(installing: Installing) -> Settings:
    return asyncio.run(installing()).settings


@pytest.fixture
def tailed(capsys: pytest.CaptureFixture[str], ready: Settings) -> Callable[..., list[Any]]:
    """The values that ``assay tail`` shows."""

    def tail(start: str, most: int | None = None, topic: str = PAGES) -> list[Any]:
        bound = ("--no-follow",) if most is None else ("--limit", str(most))
        status, out, _ = asyncio.run(command(ready, capsys, "tail", topic, "--from", start, *bound, "--json"))
        assert status == 0
        return [json.loads(line)["value"] for line in out.splitlines()]

    return tail


def test_tail_starts_and_ends_where_requested(ready: Settings, tailed: Callable[..., list[Any]]) -> None:
    feed(ready, PAGES, *(str(number).encode() for number in range(5)))
    assert (tailed("3"), tailed("earliest", 2), tailed("latest"), tailed("99")) == ([3, 4], [0, 1], [], [])


def test_topic_is_found_by_both_names_and_dead_letters_too(ready: Settings, tailed: Callable[..., list[Any]]) -> None:
    feed(ready, DEAD, b"{")
    for name in (DEAD, ready.kafka.topic_prefix + DEAD):
        assert tailed("earliest", 1, name) == [{"bytes": 1, "content_type": None}]


def test_topic_not_created_yet_differs_from_an_unknown_one(
    ran: Ran, capsys: pytest.CaptureFixture[str], kafka: str, topic_prefix: str
) -> None:
    settings = install(kafka, topic_prefix)
    for topic, said in ((PAGES, "`assay topics create` creates it"), ("nope.v1", "`assay topics list`")):
        status, _, err = asyncio.run(command(settings, capsys, "tail", topic, "--from", "earliest", "--json"))
        assert (status, said in err) == (2, True)
    assert ran(run_topics, "list", settings, as_json=True).document["topics"] == []


async def grow(settings: Settings, name: str, partitions: int) -> None:
    """Adds partitions to a topic, and waits until the broker reports them: the controller has them earlier."""
    async with opened(make_admin(settings.kafka)) as admin:
        await admin.create_partitions({name: NewPartitions(partitions)})

        async def grown() -> bool:
            [described] = await admin.describe_topics([name])
            return len(described["partitions"]) == partitions

        await until(grown)


def test_topics_are_listed_created_and_compared_for_people(ran: Ran, kafka: str, topic_prefix: str) -> None:
    settings = install(kafka, topic_prefix)
    name = topic_prefix + PAGES

    def topics(action: str, as_json: bool = False, status: int = 0, **options: Any) -> Done:
        done = ran(run_topics, action, settings, as_json=as_json, **options)
        assert done.status == status
        return done

    missing = topics("diff", as_json=True, status=1).document["differences"]
    assert len(topics("create", as_json=True, dry_run=True).document["missing"]) == len(missing) > 7
    assert f"would be made  {name}" in topics("create", dry_run=True).out
    assert f"{name}\t-\tmissing: assay topics create" in topics("list").out
    assert f"made           {name}" in topics("create").out
    assert f"existed        {name}" in topics("create").out
    assert "as declared" in topics("diff").out
    # Records are counted. A topic with other partitions is reported and not changed.
    feed(settings, PAGES, b"1", b"2")
    asyncio.run(grow(settings, name, 8))
    assert f"{name}\t8\t2" in topics("list").out.splitlines()
    assert topics("create", as_json=True).document["created"] == []
    assert len(topics("list", as_json=True).document["topics"]) == len(missing)
    assert f"{name}: partitions should be 6, is 8" in topics("diff", status=1).out.splitlines()
    # So is a changed setting, also one that is not set when a topic is created.
    asyncio.run(configure(settings, name, {"retention.bytes": "1000000", "max.message.bytes": "1000"}))
    told = topics("diff", status=1).out.splitlines()
    assert f"{name}: retention.bytes should be -1, is 1000000" in told
    assert f"{name}: max.message.bytes should be {TOPIC_BYTES}, is 1000" in told
