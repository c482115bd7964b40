"""``assay doctor`` on a real Kafka, healthy and with operator faults, and a worker that says what it waits for."""

import asyncio

from streams.app.application import Application
from streams.kafka.checks import check_kafka
from streams.kafka.topics import create_topics, plan_topics
from streams.runtime.checks import Check
from streams.settings.model import Settings
from streams.topology import HANDLERS, TOPICS
from tests.kafka.installation import Installing, install, installed, page, until

SCORE_PAGE = HANDLERS[0]


async def findings(settings: Settings) -> dict[str, Check]:
    found = check_kafka(settings.kafka, lambda handler: settings.rules(handler.rules).config_version, named=True)
    return {finding.what: finding for finding in await asyncio.to_thread(list, found)}


async def test_healthy_installation_is_reported_line_by_line(installing: Installing) -> None:
    assay = await installing(HANDLERS, TOPICS, partitions=12)
    found = await findings(assay.settings)
    assert {what: finding.state for what, finding in found.items()} == dict.fromkeys(
        ("Kafka", "transactions", "topics", "groups", "dead letters", "clocks", "rules", "indexed pages"), "ok"
    )
    assert "1 broker, version 4.0 or newer" in found["Kafka"].detail
    assert found["transactions"].detail.startswith("EndTxn version 0, the brokers offer 5;")


async def test_missing_topics_and_waiting_records_are_reported(kafka: str, topic_prefix: str) -> None:
    assay = await installed(kafka, topic_prefix, partitions=6)
    await assay.feed(page(number) for number in range(5))
    found = await findings(assay.settings)
    planned = len(plan_topics(assay.settings.kafka))
    topics = f"{planned - 3} of {planned} are missing"  # the topics of score_page and its dead letters exist
    assert found["topics"] == Check("topics", "warn", topics, "`assay topics create` creates them")
    assert (found["groups"].state, found["groups"].todo) == ("warn", "`assay run score_page`")
    bare = await findings(install(kafka, topic_prefix + "bare."))
    assert bare["topics"].state == "warn"
    assert bare["clocks"].state == bare["rules"].state == bare["dead letters"].state == "ok"


async def test_a_worker_names_the_topic_that_it_waits_for(kafka: str, topic_prefix: str) -> None:
    settings = install(kafka, topic_prefix)
    application = Application(settings, HANDLERS[:1])
    starting = asyncio.create_task(application.start())
    try:
        await until(lambda: any("`assay topics create`" in words for words in application.health.ready().problems))
        [words] = application.health.ready().problems
        assert f"{topic_prefix}pages.crawled.v1" in words
        assert f"{topic_prefix}pages.scored.v1" in words, "what it writes, too"
        await create_topics(settings.kafka)
        await until(lambda: application.health.ready().well, seconds=90)
    finally:
        starting.cancel()
        await application.stop()
