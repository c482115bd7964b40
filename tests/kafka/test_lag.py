"""The lag of groups, read from a real Kafka: running, stopped, never started, and with only markers ahead."""

from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import RecordsToDelete

from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import GroupLag, read_lags
from streams.runtime.clock import SystemClock
from streams.topology import HANDLERS
from tests.kafka.installation import CRAWLED, GROUP, Installation, page, scorer, until

SCORE_PAGE, INDEX_PAGE = HANDLERS[:2]
DAY = 86400.0


class Later(SystemClock):
    """A clock that is ahead."""

    def __init__(self, seconds: float) -> None:
        self.ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


async def lag_of(assay: Installation, ahead: float = 0.0) -> GroupLag:
    [lag] = await read_lags(assay.settings.kafka, [SCORE_PAGE], Later(ahead))
    return lag


async def test_lag_before_the_first_run_after_a_stop_and_after_a_loss(assay: Installation) -> None:
    await assay.feed(page(number) for number in range(20))
    lag = await lag_of(assay, ahead=3600)
    assert (lag.handler, lag.topic, lag.group) == ("score_page", CRAWLED, assay.prefix + GROUP)
    assert (lag.exists, lag.records, lag.members) == (True, 20, 0)
    assert {partition.committed for partition in lag.partitions} == {None}
    assert 3600 <= lag.seconds < 3700
    assert lag.retention_left_seconds == pytest.approx(7 * DAY - lag.seconds)
    await assay.drain(scorer())
    assert (await lag_of(assay)).records == 0
    await assay.feed([page(7) for _ in range(10)])
    lag = await lag_of(assay, ahead=7 * DAY + 60)
    assert (lag.records, lag.members, lag.lost, lag.retention_left_seconds) == (10, 0, 0, 0)
    [place] = [partition for partition in lag.partitions if partition.records]
    lost = {TopicPartition(assay.prefix + CRAWLED, place.partition): RecordsToDelete((place.committed or 0) + 4)}
    async with opened(make_admin(assay.settings.kafka)) as admin:
        await admin.delete_records(lost)
    lag = await lag_of(assay)
    assert (lag.records, lag.lost) == (6, 4)


async def test_caught_up_group_has_no_lag_behind_transaction_markers(assay: Installation) -> None:
    await assay.feed([page(number) for number in range(20)])
    async with assay.running(scorer()) as application:
        await until(application.drain_detector.reached)
        assert (await lag_of(assay)).members == 1
    # Markers alone are not lag, even if no member commits an offset after them.
    await assay.feed([], transactional=True)
    lag = await lag_of(assay, ahead=9 * DAY)
    assert (lag.records, lag.seconds, lag.retention_left_seconds, lag.members) == (0, 0.0, None, 0)
