"""The retry topic of a record, and the record that is written there."""

from datetime import UTC, datetime

import pytest

from schemas.event import Provenance
from schemas.outcome import Drop, DropReason, Retry, RetryReason
from streams.pipeline.failures import Input, Origin, due_after, due_at, next_retry_topic, retry_record
from streams.topology import RetryTopic
from streams.topology.codec import MAX_DETAIL, OutputRecord
from tests.streams.doubles import handler_of, raw_record

AT_ONCE, SHORT, MIDDLE, LONG = (
    RetryTopic(topic=f"topic.retry.{seconds}s", group="group", delay_seconds=seconds) for seconds in (0, 1, 60, 600)
)
TIERS = (SHORT, MIDDLE, LONG)
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
NOW_MS = 1_795_248_000_000


@pytest.mark.parametrize(
    ("current", "wish", "expected"),
    [(None, None, SHORT), (None, 0.0, SHORT), (None, 1.0, SHORT), (None, 1.5, MIDDLE), (None, 60.0, MIDDLE),
     (None, 61.0, LONG), (None, 9999.0, LONG), (SHORT, None, MIDDLE), (SHORT, 600.0, LONG), (MIDDLE, None, LONG),
     (LONG, None, None), (LONG, 1.0, None)],
)  # fmt: skip
def test_next_tier(current: RetryTopic | None, wish: float | None, expected: RetryTopic | None) -> None:
    assert next_retry_topic(TIERS, current, wish) is expected


def written(retry: Retry, tier: RetryTopic = MIDDLE, longest_seconds: float = 300.0) -> OutputRecord:
    record = raw_record(b"value", [("ce_type", b"page"), ("x-reason", b"timeout"), ("x-attempt", b"1")], b"key")
    given = Input(record, Origin(record.topic, 3, 17, record.timestamp, attempts=4), Provenance("input", "first"))
    handler = handler_of(lambda *_: Drop(DropReason.NOTHING_TO_DO))
    return retry_record(handler, tier, given, retry, due_after(tier, retry, NOW, longest_seconds))


@pytest.mark.parametrize(
    ("wish", "delay", "at_once"),
    [
        *((wish, 60, 0) for wish in (None, float("nan"), -1.0, 0.0)),
        *((0.5, 60, 0.5), (59.0, 60, 59), (61.5, 61.5, 61.5), (300.0, 300, 300), (301.0, 300, 300)),
    ],
)
def test_record_is_due_after_the_longer_of_delay_and_retry_after(
    wish: float | None, delay: float, at_once: float
) -> None:
    for tier, seconds in ((MIDDLE, delay), (AT_ONCE, at_once)):
        headers = dict(written(Retry(RetryReason.RATE_LIMITED, "busy", wish), tier).headers)
        assert headers["x-not-before"] == str(NOW_MS + int(seconds * 1000)).encode()


def test_retried_record_is_the_original_with_replaced_notes() -> None:
    record = written(Retry(RetryReason.UNAVAILABLE, "no \ud800 answer" + "x" * 10_000))
    assert (record.topic, record.key, record.value) == ("topic.retry.60s", b"key", b"value")
    names = [name for name, _ in record.headers]
    assert len(names) == len(set(names))
    headers = dict(record.headers)
    assert headers["ce_type"] == b"page"
    assert (headers["x-reason"], headers["x-attempt"], headers["x-handler"]) == (b"unavailable", b"4", b"toy")
    message = headers["x-error-message"] or b""
    assert message.startswith(b"no ? answerxxx")
    assert len(message) == MAX_DETAIL


def test_a_record_is_due_when_its_headers_say_or_at_once() -> None:
    later = written(Retry(RetryReason.UNAVAILABLE, "no answer"))
    assert due_at(raw_record(headers=later.headers)) == NOW.timestamp() + MIDDLE.delay_seconds
    for forged in (b"", b"soon", b"-1", b"9" * 20, b"\xff", None):
        assert due_at(raw_record(headers=[("x-not-before", forged)])) == 0
    assert due_at(raw_record()) == 0
    assert due_at(raw_record(headers=[("x-not-before", b"1" * 19)])) == int("1" * 19) / 1000
