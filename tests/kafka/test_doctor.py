"""``assay doctor`` on a real Kafka, healthy and with operator faults."""

import asyncio

from streams.kafka.checks import check_kafka
from streams.kafka.topics import plan_topics
from streams.runtime.checks import Check
from streams.settings.model import Settings
from streams.topology import HANDLERS, TOPICS
from tests.kafka.installation import Installing, install, installed, page

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
