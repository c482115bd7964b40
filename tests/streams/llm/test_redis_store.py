"""Answers and costs in Redis, over a small stand-in for the client."""

from __future__ import annotations

from typing import Any, Self

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from streams.llm.redis_store import RedisStore
from streams.llm.store import StoreError
from streams.llm.usage import Experience, Usage, Used

DAY = "2025-01-02"


class SmallRedis:
    """The few commands that are used; a pipeline does them at its end."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.seconds: dict[str, int] = {}
        self.hashes: dict[str, dict[str, str]] = {}
        self.down = False

    async def get(self, name: str) -> str | None:
        self._check()
        return self.values.get(name)

    async def incrbyfloat(self, name: str, amount: float) -> float:
        self._check()
        self.values[name] = str(float(self.values.get(name, "0")) + amount)
        return float(self.values[name])

    async def hincrby(self, name: str, field: str, amount: int) -> int:
        its = self.hashes.setdefault(name, {})
        its[field] = str(int(its.get(field, "0")) + amount)
        return int(its[field])

    async def hgetall(self, name: str) -> dict[str, str]:
        self._check()
        return self.hashes.get(name, {})

    async def expire(self, name: str, seconds: int) -> None:
        self.seconds[name] = seconds

    async def set(self, name: str, value: str, ex: int) -> bool:
        self.values[name], self.seconds[name] = value, ex
        return True

    def pipeline(self, transaction: bool) -> SmallPipeline:
        assert transaction
        return SmallPipeline(self)

    async def aclose(self) -> None:
        pass

    def _check(self) -> None:
        if self.down:
            raise RedisConnectionError("no")


class SmallPipeline:
    def __init__(self, redis: SmallRedis) -> None:
        self._redis = redis
        self._commands: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **options: self._commands.append((name, arguments, options))

    async def execute(self) -> list[Any]:
        return [await getattr(self._redis, name)(*arguments, **options) for name, arguments, options in self._commands]


@pytest.fixture
def redis() -> SmallRedis:
    return SmallRedis()


@pytest.fixture
def store(redis: SmallRedis) -> RedisStore:
    return RedisStore("redis://localhost:1", redis)


async def test_answers(store: RedisStore, redis: SmallRedis) -> None:
    assert await store.get("k", 0) is None
    assert await store.keep("k", "{}", 0, 100.5, DAY, 0.5) == 0.5
    assert await store.get("k", 0) == "{}"
    assert redis.seconds["assay:llm:answer:k"] == 100
    assert redis.seconds[f"assay:llm:costs:{DAY}"] >= 86_400
    await store.aclose()


async def test_what_is_kept_for_no_time_is_not_kept(store: RedisStore) -> None:
    assert await store.keep("k", "{}", 0, 0, DAY, 0.5) == 0.5
    assert await store.get("k", 0) is None


async def test_what_calls_took_is_summed_up(store: RedisStore) -> None:
    assert await store.experience("t", "m") == Experience()
    for took in (10, 30):
        await store.keep("k", "{}", 0, 9, DAY, 0.0, Used("t", "m", True, Usage(1, 100, 90, took, 500)))
    assert await store.experience("t", "m") == Experience(Usage(2, 200, 180, 40, 1000), Usage())


async def test_costs_of_a_replay_are_kept_for_longer_than_those_of_a_day(store: RedisStore, redis: SmallRedis) -> None:
    await store.book("replay:spring", 0.5, None)
    assert redis.seconds["assay:llm:costs:replay:spring"] > 30 * 86_400


async def test_costs(store: RedisStore) -> None:
    assert await store.book(DAY, 0.6, 1.0) == (True, 0.6)
    refused, total = await store.book(DAY, 0.6, 1.0)
    assert refused is False
    assert total == pytest.approx(0.6)
    assert (await store.book(DAY, -0.5, 1.0))[0]
    assert (await store.book(DAY, 0.6, None))[0]


async def test_trouble_is_told(store: RedisStore, redis: SmallRedis) -> None:
    redis.down = True
    for trying in (
        store.get("k", 0),
        store.experience("t", "m"),
        store.keep("k", "{}", 0, 9, DAY, 1),
        store.book(DAY, 1, None),
    ):
        with pytest.raises(StoreError):
            await trying
