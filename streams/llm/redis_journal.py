"""The answer journal in Redis, for replicas that share no disk (extra ``redis``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from streams.llm.journal import AMOUNTS, AnswerJournal, DayCalls, JournalError
from streams.runtime.extras import install_line

PREFIX = "assay:llm:"
_SECONDS = 2.0  # timeout of a command; a hanging journal must not delay answers for longer than a model may
_COSTS_SECONDS = 3 * 86_400  # a day's costs are needed until the day is over in every time zone
_CALLS_SECONDS = 400 * 86_400  # how long the calls of a day are kept
_OTHER_COSTS_SECONDS = 90 * 86_400  # a replay's costs are needed until an operator resumes it


class RedisJournal(AnswerJournal):
    """An ``AnswerJournal`` in Redis. Durable as far as the server is: give it ``appendonly yes``."""

    def __init__(self, url: str) -> None:
        """Opens nothing yet. Raises JournalError if the client library is not installed or the URL is invalid."""
        try:
            import redis.asyncio
            from redis.exceptions import RedisError
        except ImportError as error:
            raise JournalError(f"llm.redis_url needs the extra `redis`: {install_line('redis')}") from error
        # Another application may have written values that are not text under our keys.
        self._errors: tuple[type[Exception], ...] = (RedisError, OSError, ValueError)
        try:
            self._redis = redis.asyncio.Redis.from_url(url, decode_responses=True, socket_timeout=_SECONDS)
        except ValueError as error:
            # The message would repeat the password.
            raise JournalError("llm.redis_url is no address: it is like redis://localhost:6379/0") from error

    @override
    async def get(self, key: str, now: float) -> str | None:  # the server expires keys by its own clock
        with self._journal_errors():
            answer = await self._redis.get(f"{PREFIX}answer:{key}")
        return None if answer is None else str(answer)

    @override
    async def keep(
        self, key: str, answer: str, now: float, seconds: float, accounts: Sequence[str], usd: float
    ) -> float:
        with self._journal_errors():
            async with self._redis.pipeline(transaction=True) as all_:
                if seconds >= 1:
                    all_.set(f"{PREFIX}answer:{key}", answer, ex=int(seconds))
                for account in accounts:
                    all_.incrbyfloat(f"{PREFIX}costs:{account}", usd)
                    all_.expire(f"{PREFIX}costs:{account}", _kept_for(account))
                *_, total, _ = await all_.execute()
        return float(total)

    @override
    async def book(self, bounds: Mapping[str, float | None], usd: float) -> tuple[str, float]:
        total, booked = 0.0, list[str]()
        with self._journal_errors():
            for account, most in bounds.items():
                name = f"{PREFIX}costs:{account}"
                total = float(await self._redis.incrbyfloat(name, usd))
                await self._redis.expire(name, _kept_for(account))
                booked.append(name)
                if most is not None and usd > 0 and total > most:
                    # Until the reversal other replicas may be refused, but none may exceed the bound.
                    for name in booked:
                        total = float(await self._redis.incrbyfloat(name, -usd))
                    return account, total
        return "", total

    @override
    async def booked(self, account: str) -> float:
        with self._journal_errors():
            return float(await self._redis.get(f"{PREFIX}costs:{account}") or 0.0)

    @override
    async def count(self, calls: Sequence[DayCalls]) -> None:
        with self._journal_errors():
            async with self._redis.pipeline(transaction=True) as all_:
                for row in calls:
                    name = f"{PREFIX}calls-of:{row.day}"
                    for column in AMOUNTS:
                        if amount := getattr(row, column):
                            all_.hincrbyfloat(name, f"{column}:{row.task}:{row.opening:d}:{row.model}", amount)
                    all_.expire(name, _CALLS_SECONDS)
                    all_.sadd(f"{PREFIX}days", row.day)
                await all_.execute()

    @override
    async def counted(self, since: str) -> list[DayCalls]:
        found: dict[tuple[str, ...], DayCalls] = {}
        with self._journal_errors():
            days = [day for day in map(str, await self._redis.smembers(f"{PREFIX}days")) if day >= since]
            async with self._redis.pipeline(transaction=False) as all_:
                for day in days:
                    all_.hgetall(f"{PREFIX}calls-of:{day}")
                for day, fields in zip(days, await all_.execute(), strict=True):
                    for field, amount in fields.items():
                        column, *key = str(field).split(":", 3)
                        task, opening, model = key
                        row = found.get((day, *key), DayCalls(day, model, task=task, opening=opening == "1"))
                        value: Any = float(amount) if column == "usd" else int(amount)
                        found[day, *key] = row._replace(**{column: value})
        return list(found.values())

    @contextmanager
    def _journal_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise JournalError(f"redis: {type(error).__name__}") from error

    @override
    async def aclose(self) -> None:
        await self._redis.aclose()


def _kept_for(account: str) -> int:
    return _COSTS_SECONDS if account[:1].isdigit() else _OTHER_COSTS_SECONDS
