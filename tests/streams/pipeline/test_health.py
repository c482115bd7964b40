import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from streams.pipeline.group import ConsumerGroup, Subscription
from streams.pipeline.health import Health
from streams.settings.model import Settings, load_settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, Handler
from tests.streams.doubles import VirtualClock, nothing_missing


@dataclass
class Group:
    """What health looks at of a group."""

    handler: Handler = HANDLERS[0]
    failed: BaseException | None = None
    oldest_seconds: float = 0.0
    unjoined_seconds: float = 0.0
    unpolled_seconds: float = 0.0
    starved: tuple[float, str] = (0.0, "")
    client_failed: str | None = None
    kept_waiting: tuple[float, str] = (0.0, "")
    opened: bool = True
    trouble: tuple[str, Exception] | None = None
    ticks: int = 0
    looks: int = 0

    @property
    def subscription(self) -> Subscription:
        return Subscription(self.handler)

    def tick(self) -> None:
        self.ticks += 1

    async def measure_lag(self) -> bool:
        self.looks += 1
        return True


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings(pipeline={"stalled_seconds": 60.0}, kafka={"session_timeout_seconds": 10.0})


def health_of(settings: Settings, *groups: Group, clock: VirtualClock | None = None) -> Health:
    watched = cast("list[ConsumerGroup]", list(groups))
    return Health(watched, settings, clock or VirtualClock(), Metrics(CollectorRegistry()), find=nothing_missing)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (Group(failed=KeyError("x")), "stopped by KeyError: 'x'"),
        (Group(oldest_seconds=61.0), "in work for 61 s"),
        (Group(starved=(61.0, "t/3")), "t/3 has got no record for 61 s"),
        (Group(unjoined_seconds=61.0), "no partitions were assigned for 61 s"),
        (Group(unpolled_seconds=75.0), "no poll for 75 s"),
        (Group(client_failed="it ended"), "client stopped: it ended"),
    ],
    ids=["bug", "stalled", "starved", "unjoined", "not polled", "client"],
)
def test_trouble_that_a_restart_would_end_is_reported(settings: Settings, group: Group, words: str) -> None:
    sick = replace(group, handler=HANDLERS[1])
    verdict = health_of(settings, Group(), sick).alive()
    assert not verdict.well
    [problem] = verdict.problems
    assert problem.startswith(f"assay.{HANDLERS[1].name}: ")
    assert words in problem
    assert health_of(settings, Group(), sick).ready().well, "readiness is another question"


def test_a_process_that_has_to_end_is_not_alive_again(settings: Settings) -> None:
    group = Group(oldest_seconds=61.0)
    health = health_of(settings, group)
    looks = [health.wedged() for _ in range(9)]
    group.oldest_seconds = 0.0
    assert [*looks, health.wedged()] == [False] * 10, "it has recovered"
    group.oldest_seconds = 61.0
    assert [health.wedged() for _ in range(10)] == [False] * 9 + [True]
    group.oldest_seconds = 0.0
    assert "in work for 61 s" in health.alive().problems[0]


def test_the_limits_themselves_are_not_beyond_the_limits(settings: Settings) -> None:
    assert health_of(settings, Group(oldest_seconds=60.0, unpolled_seconds=60.0)).alive().well


def test_process_is_ready_when_every_group_is_open(settings: Settings) -> None:
    health = health_of(settings, Group(), Group(handler=HANDLERS[1], opened=False))
    assert health.ready().problems == (f"assay.{HANDLERS[1].name}: partitions not open yet",)
    assert health.alive().well, "nobody is restarted for waiting"


class StumblingClock(VirtualClock):
    """A clock on which every pause takes longer than was asked for."""

    late: float = 0.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        self.seconds += self.late


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - time is virtual, turns of the loop are all there is
            await asyncio.sleep(0)


async def test_blocked_event_loop_is_noticed_and_forgiven(settings: Settings) -> None:
    clock, group = StumblingClock(), Group()
    clock.late = 12.0
    health = health_of(settings, group, clock=clock)
    await health.start()
    await until(lambda: group.ticks)
    assert health.alive().problems == ("the event loop was blocked for 12.0 s",)
    clock.late = 0.0
    await until(lambda: health.alive().well)
    await until(lambda: group.looks)
    assert group.ticks >= 8 * group.looks, "asking for the lag costs a request"
    await health.stop()
    ticks = group.ticks
    await asyncio.sleep(0)
    assert group.ticks == ticks


def test_outage_is_reported_once_per_handler_and_stays_healthy(settings: Settings) -> None:
    health = health_of(settings, Group(kept_waiting=(61.0, "503")), Group(kept_waiting=(61.0, "503")), Group())
    assert health.alive().well
    assert health.waiting(61.0).well
    assert health.waiting(60.0).problems == (f"{HANDLERS[0].name} has waited 61 s for a service that is down (503)",)
