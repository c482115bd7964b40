"""A handler that waits as for a language model: heavy-tailed answers under a rate limit, through the pipeline.

The fake services answer half of the requests within half a second and two in a hundred after 15 s. They let at most the
permitted number begin in any second. The request itself seeds the random numbers.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from time import monotonic

from schemas.extraction import ExtractionCompleted, ExtractionNeeded, ExtractionStatus, ExtractionTrigger
from schemas.needs import Ask, FetchPages, Need
from schemas.outcome import Emit
from schemas.replies import PagesReply, Reply
from schemas.rules import Rules
from streams.app.application import Application
from streams.kafka.topics import create_topics
from streams.topology import EXTRACTION_COMPLETED, EXTRACTION_NEEDED, HANDLERS, Handler
from tests.kafka.installation import until
from tools.bench.assay_worker import settings_for
from tools.bench.events import NoRules
from tools.bench.feeds import fill
from tools.bench.pages import Record

RATE = 50
"""Asks that may begin in any second."""
MEDIAN_SECONDS, SIGMA = 0.5, 0.5
SLOW_SHARE, SLOW_SECONDS = 0.02, 15.0
CONCURRENCY = 160
"""Rate times mean latency is 43; the rest is for those that wait for their turn."""


class SlowWorld:
    """Answers asks late, and notes when each began."""

    def __init__(self, rate: int) -> None:
        self.began: list[float] = []
        self._recent: deque[float] = deque(maxlen=rate)
        self._rate = rate
        self._turn = asyncio.Lock()

    async def answer(self, need: Need, run: str | None) -> Reply:  # noqa: ARG002
        """No pages, after a while."""
        assert isinstance(need, FetchPages)
        async with self._turn:
            if len(self._recent) == self._rate:
                # A thousandth more than the second, for timers that ring early.
                await asyncio.sleep(max(0.0, self._recent[0] + 1.001 - monotonic()))
            now = monotonic()
            self._recent.append(now)
            self.began.append(now)
        await asyncio.sleep(_latency(need))
        return PagesReply(())


def _latency(need: FetchPages) -> float:
    chance = random.Random(need.query)
    if chance.random() < SLOW_SHARE:
        return SLOW_SECONDS
    return MEDIAN_SECONDS * chance.lognormvariate(0.0, SIGMA)


def ask(event: ExtractionNeeded, rules: Rules) -> Ask:
    """Asks once."""
    return Ask(FetchPages((event.target_url,), event.query))


def conclude(event: ExtractionNeeded, replies: tuple[Reply, ...], rules: Rules) -> Emit:
    """Accepts any reply."""
    done = ExtractionCompleted(
        extraction_id=event.extraction_id, target_url=event.target_url, forwarded=(), status=ExtractionStatus.OK,
        fetched=(), skipped=(), config_version="",
    )  # fmt: skip
    return Emit((done,))


def slow_handler() -> Handler:
    """``fetch_page`` with the body above: twelve partitions, one record of a key at a time."""
    [fetch_page] = [handler for handler in HANDLERS if handler.name == "fetch_page"]
    return replace(
        fetch_page,
        fn=ask,
        read=conclude,
        rules=NoRules,
        emits=(EXTRACTION_COMPLETED,),
        concurrency=CONCURRENCY,
        retry_later=(),
        rounds=1,
    )


def asks(count: int) -> Iterable[Record]:
    """Inputs with a separate domain each."""
    for number in range(count):
        event = ExtractionNeeded(
            extraction_id=f"ask-{number}",
            query=f"question {number}",
            reason=ExtractionTrigger.AGGREGATOR_DETECTED,
            target_url=f"https://site{number}.example/",
        )
        yield EXTRACTION_NEEDED.key(event).encode(), event.to_json(), []


@dataclass(frozen=True)
class Pace:
    """How the permitted rate was used.

    Attributes:
        asks: How many began.
        share: Of the permitted asks, while there was something to ask.
        most_in_a_second: The largest number in any second; the limit is ``RATE``.
    """

    asks: int
    share: float
    most_in_a_second: int


async def measure(bootstrap: str, count: int) -> Pace:
    """Runs the asks through the pipeline, exactly once."""
    settings = settings_for(bootstrap, "pace.", "exactly_once")
    await create_topics(settings.kafka)
    await fill(settings, EXTRACTION_NEEDED.name, asks(count))
    services = SlowWorld(RATE)
    application = Application(settings, [slow_handler()], services=services)
    await application.start()
    await until(
        lambda: len(services.began) >= count and all(group.settled for group in application.groups), seconds=1800
    )
    await application.stop()
    return pace_of(services.began)


def pace_of(began: list[float]) -> Pace:
    """The figures of a run.

    >>> pace_of([number / RATE for number in range(200)])
    Pace(asks=200, share=1.0, most_in_a_second=50)
    """
    # Asks may come in bursts of RATE, so time runs from the first ask to that one after which RATE are left.
    before = len(began) - RATE
    share = before / RATE / (began[before] - began[0])
    return Pace(len(began), round(share, 4), _most_in_a_second(began))


def _most_in_a_second(began: list[float]) -> int:
    assert all(before <= after for before, after in pairwise(began))
    most = first = 0
    for last, moment in enumerate(began):
        while moment - began[first] >= 1.0 - 1e-9:
            first += 1
        most = max(most, last - first + 1)
    return most
