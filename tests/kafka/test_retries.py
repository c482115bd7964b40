"""Delayed retries and their end, the circuit breaker, and the pause of a bad deploy, on a real Kafka."""

import asyncio
import time
from collections import Counter

import pytest
from aiokafka import ConsumerRecord

from schemas.event import Run
from schemas.needs import Ask, FetchPages, Need
from schemas.outcome import Drop, DropReason, Outcome, Retry, RetryReason
from schemas.pages import CrawledPage, ScoredPage
from schemas.replies import PagesReply, Reply
from schemas.rules import Rules
from streams.app.application import Application
from streams.topology import Handler
from tests.kafka.installation import (
    CRAWLED,
    DEAD,
    GROUP,
    SCORED,
    Installation,
    Installing,
    installed,
    page,
    scored,
    scorer,
    until,
)

RETRY_1 = f"{CRAWLED}.{GROUP}.retry.1s"
RETRY_2 = f"{CRAWLED}.{GROUP}.retry.2s"
ONE_TRY = {"retries": {"max_attempts": 1}, "breaker": {"failures": 1000}}


def headers(record: ConsumerRecord) -> dict[str, str]:
    return {name: value.decode() for name, value in record.headers}


def patient(fn: object, **changes: object) -> Handler:
    return scorer(fn, ordered_by_key=False, retry_later=(1, 2), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
async def test_a_record_waits_in_retry_topics_and_passes_or_dies(installing: Installing, delivery: str) -> None:
    tried: Counter[str] = Counter()
    moments: dict[str, list[float]] = {}

    def moody(crawled: CrawledPage, rules: Rules) -> Outcome:
        tried[crawled.url] += 1
        moments.setdefault(crawled.url, []).append(time.time())
        number = int(crawled.url.rsplit("/", 1)[1])
        # Two in three pass at once, the others on the second try, on the third, or never.
        if number % 3 == 0 and tried[crawled.url] <= number // 3 % 4:
            return Retry(RetryReason.UNAVAILABLE, "not now")
        return scored(crawled, rules)

    handler = patient(moody)
    assay = await installing([handler], processing=ONE_TRY)
    await assay.feed([page(n) for n in range(60)])
    await assay.drain(handler, delivery=delivery)
    never = {f"https://site.example/{n}" for n in range(60) if n % 3 == 0 and n // 3 % 4 == 3}
    scores = await assay.read(SCORED)
    everything = {f"https://site.example/{n}" for n in range(60)}
    assert Counter(ScoredPage.model_validate_json(r.value).url for r in scores) == Counter(everything - never)
    letters = await assay.read(DEAD)
    assert Counter((letter.key or b"").decode() for letter in letters) == Counter(never)
    assert {headers(letter)["x-error-message"] for letter in letters} == {"unavailable after 3 tries: not now"}
    assert {headers(letter)["x-orig-topic"] for letter in letters} == {f"{assay.prefix}{CRAWLED}"}
    first, second = await assay.read(RETRY_1), await assay.read(RETRY_2)
    assert (len(first), len(second)) == (15, 10)
    assert {headers(record)["x-attempt"] for record in first} == {"1"}
    for record in first + second:
        note = headers(record)
        assert max(moments[(record.key or b"").decode()]) * 1000 >= int(note["x-not-before"]), "never early"
        assert note["x-root-id"].startswith(f"{assay.prefix}{CRAWLED}/")
    causes = {headers(record)["ce_causationid"] for record in scores}
    assert all(cause.startswith(f"{assay.prefix}{CRAWLED}/") for cause in causes), "the identity stays the first one"


async def test_a_restart_in_between_neither_loses_nor_doubles_a_retry(installing: Installing) -> None:
    well = False

    def moody(crawled: CrawledPage, rules: Rules) -> Outcome:
        return scored(crawled, rules) if well else Retry(RetryReason.UNAVAILABLE)

    handler = patient(moody)
    assay = await installing([handler], processing=ONE_TRY)
    await assay.feed([page(n) for n in range(30)])
    async with assay.running(handler):
        await until(lambda: sum_of(assay, RETRY_1, 30))
    well = True
    await assay.drain(handler)
    urls = Counter(event.url for event in await assay.events(ScoredPage))
    assert urls == Counter(f"https://site.example/{n}" for n in range(30))
    assert await assay.read(DEAD) == []


async def sum_of(assay: Installation, topic: str, wanted: int) -> bool:
    return sum((await assay.ends(topic)).values()) >= wanted


class Provider:
    """An external service that is down until the test enables it."""

    def __init__(self) -> None:
        self.works = False
        self.asked = 0

    async def answer(self, need: Need, run: Run | None) -> Reply:  # noqa: ARG002
        self.asked += 1
        await asyncio.sleep(0.01)
        if not self.works:
            raise ConnectionError("down")
        return PagesReply(())


async def test_outage_pauses_intake_without_attempts_or_health_failure(kafka: str, topic_prefix: str) -> None:
    def ask(crawled: CrawledPage, rules: Rules) -> Ask:
        return Ask(FetchPages((crawled.url,), "q"))

    def read(crawled: CrawledPage, replies: tuple[Reply, ...], rules: Rules) -> Outcome:
        return scored(crawled, rules) if replies else Drop(DropReason.NOTHING_TO_DO)

    handler = patient(ask, read=read, rounds=1, asks=frozenset({FetchPages}), concurrency=8)
    assay = await installed(
        kafka,
        topic_prefix,
        [handler],
        processing={"retries": {"max_attempts": 2, "first_seconds": 0.01}, "breaker": {"failures": 3}},
        pipeline={"window_records": 20, "stalled_seconds": 3.0},
    )
    provider = Provider()
    application = Application(assay.settings, [handler], services=provider)
    try:
        await application.start()
        await until(lambda: application.groups[0].opened)
        await assay.feed([page(n) for n in range(300)])
        await until(
            lambda: application.registry.get_sample_value(
                "assay_breaker_open", {"handler": "score_page", "lane": "live"}
            )
        )
        asked = provider.asked
        await asyncio.sleep(4.0)
        assert application.health.alive().well, "longer than work may take, and nobody is to blame"
        assert application.health.ready().well
        assert provider.asked - asked < 20, "one probe at a time"
        group = application.groups[0]
        assert all(partition.cursor.room == 0 for partition in group.partitions.values()), "nothing is taken in"
        provider.works = True
        await until(application.drain_detector.reached, times=2)
    finally:
        await application.stop()
    urls = Counter(event.url for event in await assay.events(ScoredPage))
    assert urls == Counter(f"https://site.example/{n}" for n in range(300))
    assert await assay.read(DEAD) == []


def raises(event: CrawledPage, rules: Rules) -> Outcome:
    raise ValueError("a bug of this deploy")


async def test_bad_deploy_pauses_and_the_next_one_does_the_rest(kafka: str, topic_prefix: str) -> None:
    assay = await installed(kafka, topic_prefix, dlq={"max_share": 0.5, "least_records": 20, "pause_seconds": 3600})
    await assay.feed(page(number) for number in range(400))
    async with assay.running(scorer(raises)) as application:
        await until(
            lambda: (
                application.registry.get_sample_value(
                    "assay_dead_letter_pauses_total", {"handler": "score_page", "lane": "live"}
                )
                == 1
            )
        )
    dead = await assay.read(DEAD)
    assert 20 <= len(dead) < 60
    await assay.drain(scorer())
    assert len(await assay.read(SCORED)) == 400 - len(dead)
