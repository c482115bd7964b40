"""A quota of the cluster on what a client may write: the pipeline gets slower, and loses nothing."""

import random
import time

import pytest

from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from tests import samples
from tests.kafka.installation import SCORED, Installation, Installing, kafka_tool, page, scorer

_BYTES = 20_000
"""A second. The broker takes the mean of eleven seconds, so ten times as many pass at once."""
_PAGES = 400


def limit(assay: Installation, client_id: str, change: str) -> None:
    """Sets or removes a client's quota, by a tool of Kafka's: aiokafka can only describe quotas."""
    at = ["--bootstrap-server", assay.settings.kafka.bootstrap_servers]
    client = ["--entity-type", "clients", "--entity-name", client_id]
    kafka_tool("kafka.admin.ConfigCommand", *at, "--alter", *client, *change.split())


def incompressible(page: CrawledPage, rules: Rules) -> Outcome:
    """An answer of 1 KB after compression."""
    content = random.Random(page.url).randbytes(1000).hex()
    return Emit((samples.scored(page.url, content, config_version=rules.config_version),))


@pytest.mark.slow
async def test_a_quota_slows_the_pipeline_and_loses_nothing(installing: Installing) -> None:
    handler = scorer(incompressible, name="score_slowly")  # its client id is that of no other test
    assay = await installing([handler], pipeline={"commit_records": 10})

    async def seconds_for(first: int) -> float:
        await assay.feed(page(number) for number in range(first, first + _PAGES))
        began = time.monotonic()
        await assay.drain(handler)
        return time.monotonic() - began

    free = await seconds_for(0)
    limit(assay, handler.group, f"--add-config producer_byte_rate={_BYTES}")
    try:
        limited = await seconds_for(_PAGES)
    finally:
        limit(assay, handler.group, "--delete-config producer_byte_rate")
    results = await assay.read(SCORED)
    written = sum(len(record.value or b"") for record in results[_PAGES:])
    print(f"without a quota {free:.1f} s, with {_BYTES} bytes/s {limited:.1f} s for {written} bytes")
    assert len(results) == len({record.key for record in results}) == 2 * _PAGES
    assert limited > free + 1
