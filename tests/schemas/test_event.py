from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.event import Envelope, OutputIds, Provenance, Run, derive_id
from schemas.pages import CrawledPage
from schemas.retrieval import RetrievalBatch

TIME = datetime(2025, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
ENVELOPE = Envelope("one", "assay/score_page", TIME, "first", "zero", "00-1", Run("run-7"))


def test_the_ids_of_outputs_never_change() -> None:
    """These are written on topics already; another value would be another event."""
    assert derive_id("a", 1) == "ad6720f2-dc12-56b2-85ab-09cb64b06ab4"
    assert (
        OutputIds("score_page", 1, "0123456789ab").of("pages.crawled.v1/0/7", 0)
        == "6b82201e-3769-5f7a-9d29-20d81a3bcce4"
    )


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_different_parts_give_different_ids(one: list[str], other: list[str]) -> None:
    assert (derive_id(*one) == derive_id(*other)) == (one == other)


@given(st.text(), st.integers(0, 9))
def test_output_id_is_a_uuid5_of_all_its_inputs(identity: str, ordinal: int) -> None:
    everything = derive_id("output", "toy", 2, "rules", identity, ordinal)
    assert OutputIds("toy", 2, "rules").of(identity, ordinal) == everything
    assert UUID(everything).version == 5


def test_headers_are_the_binary_mode_of_cloudevents() -> None:
    headers = dict(ENVELOPE.headers("pages.scored.v1", "https://a.example/"))
    assert headers == {
        "ce_specversion": b"1.0",
        "ce_id": b"one",
        "ce_type": b"org.assay.pages.scored.v1",
        "ce_subject": b"https://a.example/",
        "ce_dataschema": b"urn:assay:pages.scored.v1",
        "ce_source": b"assay/score_page",
        "ce_time": b"2025-01-02T03:04:05.678Z",
        "ce_correlationid": b"first",
        "ce_causationid": b"zero",
        "traceparent": b"00-1",
        "assay_run": b"run-7",
        "content-type": b"application/json",
    }


def test_what_was_written_is_read_back() -> None:
    read = Provenance.of(ENVELOPE.headers("pages.scored.v1", "https://a.example/"), "t/0/0")
    assert (read.identity, read.correlation_id, read.traceparent, read.run) == ("one", "first", "00-1", Run("run-7"))


def test_a_foreign_record_is_known_by_its_place() -> None:
    read = Provenance.of([], "pages.crawled.v1/3/17")
    assert (read.identity, read.correlation_id) == ("pages.crawled.v1/3/17", "pages.crawled.v1/3/17")


@given(st.lists(st.tuples(st.text(), st.none() | st.binary())))
def test_no_header_makes_reading_fail(headers: list[tuple[str, bytes | None]]) -> None:
    assert Provenance.of(headers, "t/0/0").identity


@pytest.mark.parametrize(
    ("value", "read"), [("e" * 512, "e" * 512), ("e" * 513, None), ("a\0", None), (7, None), ({"id": "e"}, None)]
)
def test_what_is_no_event_id_is_null(value: object, read: str | None) -> None:
    assert CrawledPage.model_validate({"url": "https://a.example/", "content": "", "event_id": value}).event_id == read


def test_an_address_that_is_too_long_is_read_as_missing() -> None:
    """It does not prevent the classification of the batch (R-042), and outputs have bounded addresses."""
    results = [
        {"url": "https://a.example/" + "a" * 9000, "content": "a"},
        {"url": "https://a.example/", "content": "b"},
    ]
    batch = RetrievalBatch.model_validate({"batch_id": "b", "query": "q", "retrieved_content": results})
    assert [result.url for result in batch.retrieved_content] == ["", "https://a.example/"]
