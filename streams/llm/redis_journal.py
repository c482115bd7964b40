"""The answer journal in Redis, for replicas that share no disk (extra ``redis``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import override

from streams.llm.journal import AnswerJournal, DayCalls, Experience, JournalError, Usage, Used
from streams.runtime.extras import install_line

PREFIX = "assay:llm:"
_SECONDS = 2.0  # timeout of a command; a hanging journal must not delay answers for longer than a model may
_COSTS_SECONDS = 3 * 86_400  # a day's costs are needed until the day is over in every time zone
_COUNTED = ("requested", "cached", "refused")
_COUNTS_SECONDS = 400 * 86_400  # how long the counts of a day are kept
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
        self, key: str, answer: str, now: float, seconds: float, day: str, usd: float, used: Used | None = None
    ) -> float:
        with self._journal_errors():
            async with self._redis.pipeline(transaction=True) as both:
                if seconds >= 1:
                    both.set(f"{PREFIX}answer:{key}", answer, ex=int(seconds))
                if used is not None:
                    for field, amount in used.usage._asdict().items():
                        both.hincrby(_usage_name(used.task, used.model, used.opening), field, amount)
                both.incrbyfloat(f"{PREFIX}costs:{day}", usd)
                both.expire(f"{PREFIX}costs:{day}", _kept_for(day))
                *_, total, _ = await both.execute()
        return float(total)

    @override
    async def book(self, day: str, usd: float, most: float | None) -> tuple[bool, float]:
        name = f"{PREFIX}costs:{day}"
        with self._journal_errors():
            total = float(await self._redis.incrbyfloat(name, usd))
            await self._redis.expire(name, _kept_for(day))
            if most is None or usd <= 0 or total <= most:
                return True, total
            # Until the reversal other replicas may be refused, but none may exceed the budget.
            return False, float(await self._redis.incrbyfloat(name, -usd))

    @override
    async def experience(self, task: str, model: str) -> Experience:
        with self._journal_errors():
            rows = [await self._redis.hgetall(_usage_name(task, model, opening)) for opening in (True, False)]
            return Experience(*(Usage(*(int(row.get(field, 0)) for field in Usage._fields)) for row in rows))

    @override
    async def count(self, calls: Sequence[DayCalls]) -> None:
        with self._journal_errors():
            async with self._redis.pipeline(transaction=True) as all_:
                for counts in calls:
                    name = f"{PREFIX}calls:{counts.day}"
                    for kind in _COUNTED:
                        if amount := getattr(counts, kind):
                            all_.hincrby(name, f"{kind}:{counts.model}", amount)
                    all_.hincrbyfloat(name, f"usd:{counts.model}", counts.usd)
                    all_.expire(name, _COUNTS_SECONDS)
                await all_.execute()

    @override
    async def counted(self, days: Sequence[str]) -> list[DayCalls]:
        found: dict[tuple[str, str], DayCalls] = {}
        with self._journal_errors():
            for day in days:
                for field, amount in (await self._redis.hgetall(f"{PREFIX}calls:{day}")).items():
                    kind, _, model = str(field).partition(":")
                    value: Any = float(amount) if kind == "usd" else int(amount)
                    found[day, model] = found.get((day, model), DayCalls(day, model))._replace(**{kind: value})
        return list(found.values())

    @override
    async def booked(self, account: str) -> float:
        with self._journal_errors():
            return float(await self._redis.get(f"{PREFIX}costs:{account}") or 0.0)

    @contextmanager
    def _journal_errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise JournalError(f"redis: {type(error).__name__}") from error

    @override
    async def aclose(self) -> None:
        await self._redis.aclose()


def _usage_name(task: str, model: str, opening: bool) -> str:
    return f"{PREFIX}usage:{task}:{model}:{'opening' if opening else 'followup'}"


def _kept_for(account: str) -> int:
    return _COSTS_SECONDS if account[:1].isdigit() else _OTHER_COSTS_SECONDS
