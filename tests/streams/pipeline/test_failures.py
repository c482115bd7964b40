import hashlib
import json
from base64 import b64decode
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.dead import KEPT_BYTES, DeadLetter
from schemas.event import Provenance
from schemas.outcome import Dead, DeadReason, Drop, DropReason, Retry, RetryReason, Stage
from streams.pipeline.failures import Input, Origin, dead_letter, due_at, next_retry_topic, retry_record
from streams.topology import DEAD_LETTER_BYTES, MIB, TOPIC_BYTES, RetryTopic
from streams.topology.codec import MAX_DETAIL, Headers, OutputRecord
from tests.streams.doubles import START, handler_of, raw_record

HANDLER = handler_of(lambda *_: Dead(DeadReason.HANDLER_BUG))
ORIGIN = Origin("shop.pages.crawled.v1", 3, 17, 1_700_000_000_000)
REFUSAL = Dead(DeadReason.INVALID, "url: Field required")


def letter(
    value: bytes | None = b"{}",
    headers: Headers = (),
    key: bytes | None = b"k",
    refusal: Dead = REFUSAL,
    origin: Origin = ORIGIN,
) -> OutputRecord:
    given = Input(raw_record(value, headers, key), origin, Provenance.of(headers, origin.identity))
    return dead_letter(HANDLER, given, refusal, Stage.DECODE, START)


def notes(record: OutputRecord) -> dict[str, str]:
    names = [name for name, _ in record.headers]
    assert len(names) == len(set(names)), "a name that stands twice is read differently by every reader"
    return {name: value.decode() for name, value in record.headers if value is not None}


def test_the_original_is_kept_and_the_notes_say_why() -> None:
    record = letter(b"\xff\x00 no JSON", [("traceparent", b"00-1"), ("assay_run", b"backfill-7"), ("mine", b"")])
    assert record.topic == "pages.crawled.v1.assay.toy.dlq", "the logical name; the writer adds the prefix"
    assert (record.key, record.value) == (b"k", b"\xff\x00 no JSON")
    assert notes(record) == {
        "traceparent": "00-1",
        "assay_run": "backfill-7",
        "mine": "",
        "x-id": "shop.pages.crawled.v1/3/17",
        "x-root-id": "shop.pages.crawled.v1/3/17",
        "x-orig-topic": "shop.pages.crawled.v1",
        "x-orig-partition": "3",
        "x-orig-offset": "17",
        "x-orig-ts": "1700000000000",
        "x-handler": "toy",
        "x-stage": "decode",
        "x-reason": "invalid",
        "x-error-message": "url: Field required",
        "x-died-at": START.isoformat(),
        "x-run": "backfill-7",
    }


def test_a_record_without_key_value_or_timestamp_is_kept_as_such() -> None:
    record = letter(None, key=None, origin=Origin("t", 0, 0, None))
    # The client sends no record that has neither key nor value.
    assert (record.key, record.value) == (None, b"")
    assert notes(record)["x-tombstone"] == "true"
    assert notes(record)["x-orig-ts"] == ""
    assert "x-tombstone" not in notes(letter(b""))


def test_headers_that_are_not_text_are_kept_as_base64() -> None:
    record = letter(headers=[("bin", b"\xff\x00"), ("none", None), ("text", "å".encode())])
    kept = notes(record)
    assert kept["text"] == "å"
    assert "bin" not in kept
    binary = json.loads(kept["x-orig-binary-headers"])
    assert b64decode(binary["bin"]) == b"\xff\x00"
    assert binary["none"] is None


def test_redriven_record_keeps_its_root_and_only_its_last_notes() -> None:
    first = letter(None, [("bin", b"\xff"), ("text", b"t")], key=b"x" * (KEPT_BYTES + 1))
    redriven = [(name, value) for name, value in first.headers]
    again = letter(b"{}", redriven, origin=Origin("shop.pages.crawled.v1", 5, 99, None))
    kept = notes(again)
    assert kept["x-root-id"] == "shop.pages.crawled.v1/3/17"
    assert (kept["x-orig-partition"], kept["x-orig-offset"]) == ("5", "99")
    assert kept["text"] == "t"
    for stale in ("x-tombstone", "x-orig-key-size", "x-orig-binary-headers"):
        assert stale not in kept


def test_a_value_that_no_topic_takes_is_cut_and_its_digest_kept() -> None:
    value = bytes(range(256)) * (56 * 1024)
    record = letter(value)
    assert record.value == value[:KEPT_BYTES]
    read = DeadLetter.of(record.headers)
    assert read.original_size == len(value) == 14 * MIB
    assert read.original_sha256 == hashlib.sha256(value).hexdigest()


def test_oversized_headers_are_dropped_and_their_size_noted() -> None:
    for huge in (
        [("big", b"x" * MIB)],
        [("bin", b"\xff" * MIB)],
        [(f"h{n}", b"") for n in range(100_000)],
        [("ä" * 300_000, b"")],
    ):
        kept = notes(letter(headers=huge))
        assert int(kept["x-orig-headers-dropped"]) >= MIB // 4
        assert not {name for name, _ in huge} & set(kept)
        assert "x-orig-binary-headers" not in kept


def test_oversized_key_is_cut_and_its_size_noted() -> None:
    record = letter(key=b"k" * (2 * MIB))
    assert record.key == b"k" * KEPT_BYTES
    assert notes(record)["x-orig-key-size"] == str(2 * MIB)


SIZES = st.sampled_from([0, 1, KEPT_BYTES + 1, MIB // 5, MIB, TOPIC_BYTES, TOPIC_BYTES + MIB, 2 * TOPIC_BYTES])
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ce_id", "x-root-id", "x-orig-topic", "assay_run", "traceparent", "mine", "ä"]),
        st.none() | st.binary(max_size=20) | SIZES.map(lambda size: b"x" * size),
    ),
    max_size=4,
    unique_by=lambda header: header[0],
)


@settings(max_examples=40, deadline=None)
@given(st.none() | SIZES, st.none() | SIZES, HEADERS, st.text(max_size=2000))
def test_a_dead_letter_always_fits_its_topic(value: int | None, key: int | None, headers: Headers, why: str) -> None:
    record = letter(
        None if value is None else b"v" * value,
        headers,
        None if key is None else b"k" * key,
        Dead(DeadReason.HANDLER_BUG, why),
    )
    overhead = sum(20 for _ in record.headers) + 200
    assert record.size + overhead <= DEAD_LETTER_BYTES
    notes(record)


# --- records that are tried again later ------------------------------------------------------------------------------


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
    return retry_record(handler, tier, given, retry, NOW, longest_seconds)


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
