"""Live traffic to a cluster that answers, is slow, refuses, or is silent."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError

from streams.publish.sending import Sending
from streams.publish.walk import Position
from streams.topology.codec import OutputRecord


class Producer(AIOKafkaProducer):  # type: ignore[misc] # aiokafka is not typed
    """A producer, never connected, whose cluster answers as the test wants."""

    def __init__(self) -> None:
        super().__init__(bootstrap_servers="127.0.0.1:9")
        self.sent: list[tuple[str, asyncio.Future[object]]] = []
        self.stopped = False

    async def send(self, topic: str, **_: Any) -> asyncio.Future[object]:
        self.sent.append((topic, asyncio.get_running_loop().create_future()))
        return self.sent[-1][1]

    async def flush(self) -> None:
        if self.sent:
            await asyncio.wait([future for _, future in self.sent])

    async def stop(self) -> None:
        self.stopped = self._closed = True
        await self.flush()

    def answer(self, number: int, error: Exception | None = None) -> None:
        if error is None:
            self.sent[number][1].set_result(None)
        else:
            self.sent[number][1].set_exception(error)


RECORD = OutputRecord("pages.crawled.v1", b"k", b"v", ())


class TestSending:
    async def test_what_is_acknowledged_is_counted(self) -> None:
        producer = Producer()
        sending = Sending(producer, "blue.", 5.0)
        for _ in range(3):
            await sending.passed(RECORD, Position())
        assert {topic for topic, _ in producer.sent} == {"blue.pages.crawled.v1"}
        for number in range(3):
            producer.answer(number)
        await sending.stop()
        assert (sending.acknowledged, sending.failure, producer.stopped) == (3, None, True)

    async def test_a_silent_cluster_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("streams.publish.sending._IN_FLIGHT", 2)
        sending = Sending(Producer(), "", 0.02)
        await sending.passed(RECORD, Position())
        await sending.passed(RECORD, Position())
        with pytest.raises(KafkaTimeoutError, match="nothing was acknowledged"):
            await sending.passed(RECORD, Position())
        await sending.stop()
        assert isinstance(sending.failure, KafkaTimeoutError)
        assert sending.acknowledged == 0

    async def test_a_slow_cluster_is_waited_for(self) -> None:
        producer = Producer()
        sending = Sending(producer, "", 3.0)
        for _ in range(3):
            await sending.passed(RECORD, Position())
        stopping = asyncio.ensure_future(sending.stop())
        for number in range(3):
            await asyncio.sleep(1.2)  # all three together take longer than the patience
            producer.answer(number)
        await stopping
        assert (sending.acknowledged, sending.failure) == (3, None)

    async def test_a_refusal_stops_what_comes_after(self) -> None:
        producer = Producer()
        sending = Sending(producer, "", 0.2)
        await sending.passed(RECORD, Position())
        await sending.passed(RECORD, Position())
        producer.answer(0, TopicAuthorizationFailedError("no"))
        producer.sent[1][1].cancel()
        await asyncio.sleep(0)
        with pytest.raises(KafkaError, match="no"):
            await sending.passed(RECORD, Position())
        await sending.stop()
        assert isinstance(sending.failure, TopicAuthorizationFailedError)
        assert sending.acknowledged == 0
