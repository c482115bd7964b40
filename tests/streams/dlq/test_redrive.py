"""A redriven dead letter: the original record, or the reason why it cannot be restored."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import ConsumerRecord

from schemas.dead import DeadLetter
from schemas.event import Run
from streams.dlq.dead_letters import DeadLetterRecord
from streams.dlq.redrive import revive
from streams.dlq.selection import Selection, SelectionError, selection_of
from streams.topology.codec import OutputRecord
from tests.samples import instance
from tests.tables import tables

TABLES = tables(__file__)

RUN = Run("run")
NOTES = (
    ("x-orig-topic", b"pages.crawled.v1"),
    ("x-root-id", b"root"),
    ("x-reason", b"invalid"),
    ("x-stage", b"decode"),
)


def letter(
    *headers: tuple[str, bytes | None], key: bytes | None = b"k", value: bytes | None = b"v"
) -> DeadLetterRecord:
    stamp = int(datetime(2026, 1, 2, tzinfo=UTC).timestamp() * 1000)
    record: Any = ConsumerRecord("dead", 0, 5, stamp, 0, key, value, None, 0, 0, headers)
    return DeadLetterRecord("score_page", record, DeadLetter.of(headers), None)


def revived(*headers: tuple[str, bytes | None], **record: Any) -> OutputRecord:
    return instance(OutputRecord, revive(letter(*NOTES, *headers, **record), "run"))


def test_notes_go_and_the_records_own_headers_stay() -> None:
    assert revived(("mine", b"1"), ("assay_run", b"older"), ("mine", b"2")) == OutputRecord(
        "pages.crawled.v1", b"k", b"v", (("mine", b"1"), ("mine", b"2"), ("x-root-id", b"root"), *RUN.headers())
    )


def test_binary_headers_are_headers_again() -> None:
    kept = {"raw": "/wA=", "none": None, "assay_run": "/w=="}
    found = revived(("x-orig-binary-headers", json.dumps(kept).encode()))
    assert found.headers == (("raw", b"\xff\x00"), ("none", None), ("x-root-id", b"root"), *RUN.headers())


def test_a_tombstone_is_one_again_where_it_has_a_key() -> None:
    assert revived(("x-tombstone", b"true"), value=b"").value is None
    assert revived(("x-tombstone", b"true"), value=b"", key=None).value == b""


@pytest.mark.parametrize("note", ["x-orig-size", "x-orig-key-size", "x-orig-headers-dropped"])
def test_what_is_not_whole_is_not_sent(note: str) -> None:
    assert revive(letter(*NOTES, (note, b"9")), "run") == "cut"


@pytest.mark.parametrize(
    "kept", [b"{", b"[]", b'{"a": 1}', b'{"a": "\xc3\xa9"}', b"null", b"[" * 100_000, b'{"a": "x"}']
)
def test_malformed_binary_headers_are_unreadable(kept: bytes) -> None:
    assert revive(letter(*NOTES, ("x-orig-binary-headers", kept)), "run") == "unreadable"


def test_letter_without_an_origin_is_not_redriven() -> None:
    assert revive(letter(("x-reason", b"invalid")), "run") == "no_origin"


# --- selection -------------------------------------------------------------------------------------------------------


NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


def matched(key: bytes | None = None, **changes: Any) -> DeadLetterRecord:
    fields: dict[str, Any] = dict(TABLES["letter"])
    record: Any = ConsumerRecord("dead", 0, 5, 0, 0, key, b"v", None, 0, 0, ())
    return DeadLetterRecord("score_page", record, DeadLetter(**fields | changes), None)


def typed(**changes: Any) -> Selection:
    fields: dict[str, Any] = {"handlers": [], "reasons": [], "stage": None, "key": None, "since": "", "until": ""}
    return selection_of(**fields | changes, now=NOW)


def test_empty_selection_matches_every_letter() -> None:
    assert typed().open
    assert typed().means(matched(died_at="", reason=""))


@pytest.mark.parametrize(("words", "meant"), TABLES["each_word_narrows_the_choice"])
def test_each_word_narrows_the_choice(words: dict[str, Any], meant: bool) -> None:
    selection = typed(**words)
    assert not selection.open
    assert selection.means(matched("ключ".encode())) is meant


def test_letter_without_a_time_is_outside_any_time_range() -> None:
    assert not typed(since="7d").means(matched(died_at="?"))


@pytest.mark.parametrize(("words", "complaint"), TABLES["unknown_selection_value_is_refused_with_the_known_ones"])
def test_unknown_selection_value_is_refused_with_the_known_ones(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SelectionError, match=complaint.replace("?", r"\?")):
        typed(**words)
