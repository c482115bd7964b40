"""Test doubles for the shell: a clock that the test moves, raw records, and handlers."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import ConsumerRecord

from schemas.needs import Ask, FetchPages, IndexDocument, SearchVectors
from schemas.outcome import Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from streams.topology import PAGES_CRAWLED, PAGES_SCORED, Handler, Topic

START = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
BEGAN = 1000.0  # of a virtual monotonic clock: with 0, a moment would be the same as a time since the beginning
PAGE = CrawledPage(url="https://a.example/1", html="<p>Some text.</p>")


@dataclass
class VirtualClock:
    """Time that passes only in ``sleep``."""

    seconds: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return BEGAN + self.seconds

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


async def nothing_missing(*_: object) -> list[str]:
    """A cluster that has every topic and group."""
    return []


class LongPause(VirtualClock):
    """No pause ends."""

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002
        await asyncio.Event().wait()


class NoRules(Rules):
    """Decides by nothing."""


def handler_of(
    fn: Callable[[Any, Any], Outcome | Ask],
    read: Callable[..., Outcome | Ask] | None = None,
    rounds: int = 0,
    emits: tuple[Topic, ...] = (PAGES_SCORED,),
    consumes: Topic = PAGES_CRAWLED,
) -> Handler:
    """A handler named ``toy`` that does what the test wants."""
    return Handler(
        name="toy",
        fn=fn,
        read=read,
        consumes=consumes,
        emits=emits,
        rules=NoRules,
        lane="cpu",
        slo_seconds=1,
        rounds=rounds,
        asks=frozenset((FetchPages, IndexDocument, SearchVectors)) if rounds else frozenset(),
    )


def raw_record(
    value: bytes | None = PAGE.to_json(),
    headers: Sequence[tuple[str, bytes | None]] = (),
    key: bytes | None = b"k",
    offset: int = 17,
    timestamp: int = 1_700_000_000_000,
) -> ConsumerRecord:
    """A record as aiokafka hands it over."""
    return ConsumerRecord(
        topic=PAGES_CRAWLED.name,
        partition=3,
        offset=offset,
        timestamp=timestamp,
        timestamp_type=0,
        key=key,
        value=value,
        checksum=None,
        serialized_key_size=len(key or b""),
        serialized_value_size=len(value or b""),
        headers=list(headers),
    )
