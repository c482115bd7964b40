import json
from datetime import UTC, datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.event import Envelope, Event, Run
from schemas.outcome import Dead, DeadReason
from schemas.pages import CrawledPage
from schemas.queries import RankingRequested
from streams.topology import PAGES_CRAWLED, RANKING_REQUESTED, RETRIEVAL_BATCHES, TOPIC_BYTES, TOPICS, Topic
from streams.topology.codec import MAX_DETAIL, Headers, OutputRecord, decode, encode, timestamp
from tests.samples import EXAMPLES, instance, small_example
from tests.tables import tables

TABLES = tables(__file__)

GOLDEN = [(topic, path) for topic in TOPICS for path in sorted((EXAMPLES / topic.name).glob("*.json"))]
NOON = datetime(2025, 1, 2, 12, tzinfo=UTC)
ENVELOPE = Envelope(id="one", source="assay/test", time=NOON, correlation_id="first", run=Run("backfill-7", NOON))
RAW: list[tuple[str, bytes | None]] = [("content-type", b"text/html"), ("assay_url", b"https://a.example/")]
BATCH = b'{"batchId":"b","query":"q","retrievedContent":[]}'


def page(value: bytes, headers: Headers = (), produced_at: datetime | None = None) -> CrawledPage:
    return instance(CrawledPage, decode(PAGES_CRAWLED, value, headers, produced_at))


def refused(topic: Topic, value: bytes | None, headers: Headers = ()) -> Dead:
    event = instance(Dead, decode(topic, value, headers, None))
    assert len(event.detail) <= MAX_DETAIL
    return event


def test_what_is_encoded_is_decoded_to_the_same() -> None:
    for topic, path in GOLDEN:
        event = instance(topic.event, decode(topic, path.read_bytes(), (), None))
        record = encode(topic, event, ENVELOPE)
        assert (record.topic, record.key) == (topic.name, topic.key(event).encode()), path
        assert dict(record.headers)["ce_id"] == b"one", path
        assert dict(record.headers)["assay_run"] == b"backfill-7", path
        again = instance(topic.event, decode(topic, record.value, record.headers, None))
        assert again == event.model_copy(update={"event_id": again.event_id}), path
        assert again.event_id == (None if record.value == getattr(event, "html_base64", None) else "one"), path


def test_the_value_with_its_id_is_that_of_a_copy_with_it() -> None:
    for topic, path in GOLDEN:
        event = topic.event.model_validate_json(path.read_bytes())
        for before, new in product((None, "another"), ("one", 'null "\\é')):
            named = event.model_copy(update={"event_id": before})
            assert named.to_json_as(new) == event.model_copy(update={"event_id": new}).to_json(), path


def test_the_size_of_a_record_is_that_of_all_its_parts() -> None:
    assert OutputRecord("t", b"key", b"value", (("a", b"bc"), ("d", None))).size == 3 + 5 + 3 + 1
    assert OutputRecord("t", None, None, ()).size == 0


# --- pages that travel raw -------------------------------------------------------------------------------------------


def test_raw_page_headers_ignore_case_and_bytes_are_kept() -> None:
    body = b"\xff\xfe<p>\x00\x80 no encoding has this"
    headers = [
        ("Content-Type", b"Text/HTML; charset=Big5"),
        ("ASSAY_URL", b"https://a.example/\xc3\xa5"),
        ("Assay_Fetched_At", b"2025-01-02T03:04:05.250+01:00"),
        ("assay_final_url", b"https://a.example/final"),
        ("assay_status", b"203"),
        ("assay_site_name", b"The Example"),
        ("assay_context", b"run 7"),
        ("assay_unknown", None),
    ]
    event = page(body, headers, NOON)
    assert event.body == body
    assert event.url == "https://a.example/å"
    assert event.content_type == "Text/HTML; charset=Big5"
    assert event.fetched_at == datetime(2025, 1, 2, 2, 4, 5, 250_000, tzinfo=UTC)
    assert (event.final_url, event.status) == ("https://a.example/final", 203)
    assert (event.site_name, event.context) == ("The Example", "run 7")


@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml; charset=utf-8", "TEXT/HTML"])
def test_a_raw_page_needs_its_address(content_type: str) -> None:
    for address in ([], [("assay_url", b"")], [("assay_url", None)]):
        dead = refused(PAGES_CRAWLED, b"<p>", [("content-type", content_type.encode()), *address])
        assert dead.reason is DeadReason.INVALID
        assert "assay_url" in dead.detail


INSTANT = datetime(2024, 5, 3, 10, tzinfo=UTC)
DAY = INSTANT.replace(hour=0)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("2024-05-03T10:00:00Z", INSTANT),
        ("2024-05-03t10:00:00.000000001z", INSTANT),
        ("2024-05-03 10:00:00", INSTANT),
        ("2024-05-03T12:00:00+02:00", INSTANT),
        ("20240503T100000Z", INSTANT),
        ("20240503100000", INSTANT),
        ("1714730400", INSTANT),
        ("1714730400000", INSTANT),
        ("1714730400.0", INSTANT),
        ("2024-05-03", DAY),
        (" 20240503 ", DAY),
        *((text, None) for text in ("yesterday", "20241303", "2024-13-01", "99999-01-01", "0", "2024", "true")),
        *((text, None) for text in ("9" * 11, "9" * 99, "1e9", "20991231235959", "2025-01-03T12:00:01Z")),
    ],
)  # fmt: skip
def test_digits_of_a_calendar_are_no_seconds(stated: str, expected: datetime | None) -> None:
    """Also an instant more than a day after its record is refused: a page could not be replaced until then."""
    in_header = decode(PAGES_CRAWLED, b"<p>", [*RAW, ("assay_fetched_at", stated.encode())], NOON)
    in_json = decode(PAGES_CRAWLED, f'{{"url":"u","html":"","fetched_at":"{stated}"}}'.encode(), (), NOON)
    for found in (in_header, in_json):
        if expected is None:
            assert instance(Dead, found).reason is DeadReason.BAD_INSTANT
        else:
            assert instance(CrawledPage, found).fetched_at == expected


@pytest.mark.parametrize("header", [b"", b"ok", b"-200", "²".encode(), b"9" * 5000, None])
def test_invalid_status_is_ignored(header: bytes | None) -> None:
    assert page(b"<p>", [*RAW, ("assay_status", header)]).status is None


# --- JSON ------------------------------------------------------------------------------------------------------------


def test_query_time_is_its_field_or_the_record_timestamp() -> None:
    def asked(text: str, produced_at: datetime | None) -> datetime | None:
        value = f'{{"request_id":"r","query":"q","requested_at":{text}}}'.encode()
        event = instance(RankingRequested, decode(RANKING_REQUESTED, value, (), produced_at))
        return event.requested_at

    assert asked("null", NOON) == NOON
    assert asked("null", None) is None
    assert asked('"2024-05-06T07:08:09"', NOON) == datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_a_tombstone_with_an_address_says_that_the_page_is_gone() -> None:
    gone = instance(CrawledPage, decode(PAGES_CRAWLED, None, (), NOON, b"https://a.example/x"))
    assert (gone.url, gone.status, gone.body, gone.fetched_at) == ("https://a.example/x", 410, "", NOON)
    assert page(b'{"url": "https://a.example/x", "status": 404}').status == 404
    refused(PAGES_CRAWLED, b'{"url": "https://a.example/x", "status": 200}')


def test_what_no_topic_takes_is_refused_before_it_is_read() -> None:
    assert refused(PAGES_CRAWLED, b"x" * (TOPIC_BYTES + 1), RAW).reason is DeadReason.TOO_LARGE
    assert refused(RETRIEVAL_BATCHES, b"x" * TOPIC_BYTES).reason is DeadReason.UNDECODABLE


@pytest.mark.parametrize(("name", "stated", "dead"), TABLES["another_version_is_refused"])
def test_another_version_is_refused(name: str, stated: str, dead: bool) -> None:
    for value, headers in ((b'{"url":"https://a.example/","html":"x","new":1}', ()), (b"<p>x", RAW)):
        event = decode(PAGES_CRAWLED, value, [*headers, (name, stated.encode())], None)
        assert (isinstance(event, Dead) and event.reason is DeadReason.UNKNOWN_VERSION) is dead, event
        assert isinstance(event, Dead) is dead


@pytest.mark.parametrize(
    "value",
    [
        *(value.encode() for value in TABLES["invalid_json_is_undecodable"]),
        b"\xff\xfe",
        b'{"batchId":"\xff"}',
        BATCH[:-1],
        BATCH + b"}",
        b"\xef\xbb\xbf{}}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        BATCH[:-1] + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"batchId":' + b"1" * 100_000,
    ],
    ids=lambda value: repr(value[:12]),
)
def test_invalid_json_is_undecodable(value: bytes) -> None:
    assert refused(RETRIEVAL_BATCHES, value).reason is DeadReason.UNDECODABLE


@pytest.mark.parametrize(
    "value",
    [
        *(value.encode() for value in TABLES["invalid_json_value_names_the_field"]),
        BATCH[:-1] + b',"attempt":' + b"9" * 4000 + b"}",
        BATCH[:-1] + b',"attempt":1e400}',
        BATCH[:-1] + b',"attempt":-1}',
        BATCH[:-1] + b',"attempt":"many"}',
        BATCH[:-1] + b',"previousActionableInformation":NaN}',
        BATCH[:-1] + b',"previousActionableInformation":1e999}',
        BATCH.replace(b'"b"', b'"\\u0000"'),
        BATCH.replace(b"[]", b"[17]"),
    ],
    ids=lambda value: repr(value[-30:]),
)
def test_invalid_json_value_names_the_field(value: bytes) -> None:
    dead = refused(RETRIEVAL_BATCHES, value)
    assert dead.reason is DeadReason.INVALID
    assert ":" in dead.detail


def test_a_reason_never_repeats_the_value() -> None:
    value = b'{"batchId":{"secret":"hunter2"},"query":"hunter2\\u0000","retrievedContent":"hunter2"}'
    dead = refused(RETRIEVAL_BATCHES, value)
    assert "batchId" in dead.detail
    assert "hunter2" not in dead.detail


@pytest.mark.parametrize("field", ["retrievedContent", "requiredFields"])
@pytest.mark.parametrize("item", [b"17", b"{}", b'""'])
def test_oversized_list_is_refused_with_one_error(field: str, item: bytes) -> None:
    value = BATCH.replace(b"[]", b"[]," + b'"%s":[' % field.encode() + (item + b",") * 50_000 + item + b"]")
    dead = refused(RETRIEVAL_BATCHES, value)
    assert dead.reason is DeadReason.INVALID
    assert dead.detail.count(field) == 1


@pytest.mark.parametrize("milliseconds", [None, -1, 2**63 - 1, 10**17])
def test_invalid_timestamp_is_ignored(milliseconds: int | None) -> None:
    assert timestamp(milliseconds) is None


# --- anything --------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["content-type", "assay_url", "ASSAY_URL", "assay_fetched_at", "assay_status"]) | st.text()
VALUES = st.none() | st.binary(max_size=40) | st.sampled_from([b"text/html", b"https://a.example/", b"2025-01-02"])
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=6)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def nearly_right(draw: st.DrawFn) -> tuple[Topic, bytes]:
    """A golden example with some of its fields replaced by anything."""
    topic = draw(st.sampled_from(TOPICS))
    example = json.loads(small_example(topic.name).read_bytes())
    names = st.sampled_from([field.serialization_alias or name for name, field in topic.event.model_fields.items()])
    return topic, json.dumps(example | draw(st.dictionaries(names, JSON_VALUES, max_size=3))).encode()


def total(topic: Topic, value: bytes, headers: Headers, produced_at: datetime | None) -> None:
    event = decode(topic, value, headers, produced_at)
    assert isinstance(event, Dead | topic.event)
    if isinstance(event, Event):
        record = encode(topic, event, ENVELOPE)
        assert decode(topic, record.value, record.headers, produced_at) is not None


@given(st.sampled_from(TOPICS), st.binary(), HEADERS, st.none() | st.just(NOON))
def test_any_bytes_and_headers_are_an_event_or_a_reason(
    topic: Topic, value: bytes, headers: Headers, produced_at: datetime | None
) -> None:
    total(topic, value, headers, produced_at)


@given(nearly_right(), HEADERS)
def test_any_json_is_an_event_or_a_reason(case: tuple[Topic, bytes], headers: Headers) -> None:
    total(*case, headers, None)
