"""At-least-once delivery on a real Kafka: a commit that fails after its outputs repeats them and loses none."""

from typing import Any

import pytest
from aiokafka.errors import KafkaError

from streams.pipeline.consumer import CountingConsumer
from tests.kafka.installation import SCORED, Installing, page, scorer


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
