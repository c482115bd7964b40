"""``assay dlq`` against a real Kafka: letters are counted, shown, sent again once, and deleted."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from schemas.dead import REDRIVEN_OF, is_marker
from schemas.outcome import Dead, DeadReason, Outcome
from schemas.pages import CrawledPage, ScoredPage
from schemas.rules import Rules
from streams.dlq.dead_letters import DeadLetterReader
from streams.dlq.redrive import RedriveOptions, purge, redrive
from streams.dlq.selection import Selection
from streams.kafka.clients import make_producer, opened
from tests.kafka.installation import (
    CRAWLED,
    DEAD,
    SCORED,
    Installation,
    command,
    page,
    process,
    scored,
    scorer,
    until,
    until_killed,
)

ALL = Selection()
PAGES = Selection(("score_page",))


def broken(crawled: CrawledPage, rules: Rules) -> Outcome:
    number = int(crawled.url.rsplit("/", 1)[1])
    if number % 2:
        raise RuntimeError("a bug")
    return Dead(DeadReason.UNREADABLE_PAGE, "looks like nothing") if number % 4 == 0 else scored(crawled, rules)


@pytest.fixture
async def with_letters(assay: Installation) -> Installation:
    """40 pages: 20 met a bug, 10 could not be read, 10 were scored."""
    await assay.feed([page(n) for n in range(40)])
    await assay.drain(scorer(broken))
    return assay


async def dlq(assay: Installation, capfd: pytest.CaptureFixture[str], *words: str) -> Any:
    """The last line of JSON of ``assay dlq WORDS --json``."""
    status, out, err = await command(assay.settings, capfd, "dlq", *words, "--json")
    assert status == 0, (out, err)
    return json.loads(out.splitlines()[-1])


async def again(assay: Installation, capfd: pytest.CaptureFixture[str], *words: str) -> Any:
    return await dlq(assay, capfd, "redrive", "--run-id", "mend", *words)


BUGS = ("--handler", "score_page", "--reason", "handler_bug", "--since", "1h")


def marked(records: list[ConsumerRecord]) -> list[ConsumerRecord]:
    return [record for record in records if is_marker(record.headers)]


async def test_redriven_records_get_the_ids_of_the_first_attempt(
    with_letters: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    letters = {record.key: dict(record.headers) for record in await with_letters.read(DEAD)}
    would = await again(with_letters, capfd, *BUGS, "--dry-run")
    assert (would["matched"], would["redriven"], would["letters"][0]["letters"]) == (20, 0, 20)
    assert marked(await with_letters.read(DEAD)) == []
    done = await again(with_letters, capfd, *BUGS)
    assert (done["redriven"], done["skipped"]) == (20, 0)
    await with_letters.drain(scorer())
    scores = await with_letters.read(SCORED)
    assert Counter(ScoredPage.model_validate_json(record.value).url for record in scores) == Counter(
        f"https://site.example/{n}" for n in range(40) if n % 4
    )
    for record in scores:
        headers = dict(record.headers)
        if headers.get("assay_run") == b"mend":
            assert headers["ce_causationid"] == letters[record.key]["x-root-id"]
    assert len(await with_letters.read(DEAD)) == 30 + 20, "letters stay, a marker for each that was sent again"
    told = await dlq(with_letters, capfd, "list", "--all")
    assert {(row["reason"], row["waiting"], row["redriven"]) for row in told["letters"]} == {
        ("handler_bug", 0, 20),
        ("unreadable_page", 10, 0),
    }


async def test_what_was_sent_again_is_not_sent_again_but_on_purpose(
    with_letters: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    assert (await again(with_letters, capfd, "--limit", "7"))["redriven"] == 7
    assert (await again(with_letters, capfd))["redriven"] == 23
    nothing = await again(with_letters, capfd)
    assert (nothing["redriven"], nothing["skipped"], nothing["reasons"]) == (0, 30, {"redriven_before": 30})
    assert (await again(with_letters, capfd, *BUGS, "--again"))["redriven"] == 20


async def test_original_bytes_and_headers_come_back(assay: Installation, capfd: pytest.CaptureFixture[str]) -> None:
    headers = [
        ("mine", b"text"),
        ("binary", b"\xff\x00"),
        ("none", None),
        ("x-handler", b"forged"),
        (REDRIVEN_OF, b"0"),
    ]
    async with opened(make_producer(assay.settings.kafka, None, "feed")) as producer:
        await producer.send_and_wait(assay.prefix + CRAWLED, b"{\x1b[2J", key=b"k\x07", headers=headers)
        await producer.send_and_wait(assay.prefix + CRAWLED, None, key=b"tomb")
    await assay.drain(scorer())
    letters = {letter.key: letter for letter in await assay.read(DEAD)}
    name = f"score_page/{letters[b'k' + bytes([7])].partition}/{letters[b'k' + bytes([7])].offset}"
    status, shown, _ = await command(assay.settings, capfd, "dlq", "show", name)
    assert status == 0
    assert "\x1b" not in shown
    assert "undecodable" in shown
    assert (await command(assay.settings, capfd, "dlq", "show", name, "--value", "-"))[1] == "{\x1b[2J"
    assert (await command(assay.settings, capfd, "dlq", "show", "score_page/0/99999"))[0] == 1
    assert (await command(assay.settings, capfd, "dlq", "show", "unknown/0/1"))[0] == 2
    assert (await again(assay, capfd))["redriven"] == 2
    revived = {record.key: record for record in (await assay.read(CRAWLED)) if dict(record.headers).get("assay_run")}
    assert revived[b"tomb"].value is None
    record = revived[b"k\x07"]
    assert record.value == b"{\x1b[2J"
    assert [pair for pair in record.headers if pair[0] not in ("x-root-id", "assay_run", "assay_run_began")] == [
        ("mine", b"text"),
        (REDRIVEN_OF, b"0"),
        ("binary", b"\xff\x00"),
        ("none", None),
    ]


async def test_two_at_a_time_send_nothing_twice(with_letters: Installation) -> None:
    both = (redrive(with_letters.settings, ALL, RedriveOptions(f"run-{n}")) for n in range(2))
    runs = await asyncio.gather(*both, return_exceptions=True)
    if any(isinstance(run, BaseException) for run in runs):
        await redrive(with_letters.settings, ALL, RedriveOptions("run-3"))
    sent = Counter(r.key for r in await with_letters.read(CRAWLED) if dict(r.headers).get("assay_run"))
    assert len(sent) == 30
    assert set(sent.values()) == {1}


async def test_redrive_marks_behind_a_foreign_open_transaction_count(
    with_letters: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_producer(with_letters.settings.kafka, f"{with_letters.prefix}other", "other")
    settle = DeadLetterReader.settle

    async def settle_and_write_something_else(letters: DeadLetterReader, partition: TopicPartition) -> None:
        await settle(letters, partition)
        await other.send_and_wait(partition.topic, b"a letter of a handler at work", partition=partition.partition)

    await other.start()
    await other.begin_transaction()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(DeadLetterReader, "settle", settle_and_write_something_else)
            assert (await redrive(with_letters.settings, PAGES, RedriveOptions("first"))).sent == 30
        second = asyncio.ensure_future(redrive(with_letters.settings, PAGES, RedriveOptions("second")))
        await asyncio.wait([second], timeout=1)
        assert not second.done()
    finally:
        await other.abort_transaction()
        await other.stop()
    assert (await second).sent == 0


async def test_a_redrive_that_is_killed_is_resumed(assay: Installation) -> None:
    await assay.feed([(f"k{n}".encode(), b"no json") for n in range(1500)])
    await assay.drain(scorer())
    before = sum((await assay.ends()).values())

    async def many_are_sent() -> bool:
        return sum((await assay.ends()).values()) > before + 300

    async with until_killed(await process(assay.settings, "dlq", "redrive", "--run-id", "first", "--rate", "300")):
        await until(many_are_sent)
    done = await redrive(assay.settings, ALL, RedriveOptions("second"))
    sent = Counter(r.key for r in await assay.read(CRAWLED) if dict(r.headers).get("assay_run"))
    assert 0 < done.sent < 1500
    assert len(sent) == 1500
    assert set(sent.values()) == {1}


async def test_purging_deletes_from_the_oldest_on_and_says_what_stays(
    with_letters: Installation, capfd: pytest.CaptureFixture[str]
) -> None:
    await again(with_letters, capfd, *BUGS)
    would = await purge(with_letters.settings, ALL, only_redriven=True, dry_run=True)
    assert would.deleted + would.held_back == 20
    assert len(await with_letters.read(DEAD)) == 50
    done = await purge(with_letters.settings, ALL, only_redriven=True, dry_run=False)
    assert done == would
    told = await dlq(with_letters, capfd, "list", "--all")
    assert sum(row["redriven"] for row in told["letters"]) == would.held_back
    assert told["waiting"] == 10
    rest = await dlq(with_letters, capfd, "purge", "--all", "--yes")
    assert (rest["deleted"], rest["not_sent_again"]) == (10 + would.held_back, 10)
    assert (await dlq(with_letters, capfd, "list", "--all"))["letters"] == []
