"""Reading the records of a cluster for the screens."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import ConsumerRecord
from aiokafka.errors import KafkaTimeoutError

from streams.console.objects import Records
from streams.kafka.settings import KafkaSettings
from streams.topology import PAGES_CRAWLED


async def test_a_search_that_is_cut_short_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def endless(*_: object) -> AsyncIterator[list[ConsumerRecord]]:
        while True:
            yield []
            await asyncio.sleep(0)

    monkeypatch.setattr("streams.console.objects.read_newest_first", endless)
    monkeypatch.setattr("streams.console.objects._SEARCH_SECONDS", 0.01)
    with pytest.raises(KafkaTimeoutError, match=r"no record of this key was found in 0\.01 s"):
        await Records(KafkaSettings()).newest(PAGES_CRAWLED, {b"key"}, 1)
