import json
from typing import Any

import pytest
from aiokafka import ConsumerRecord

from streams.cli.tail import as_json_line, as_line
from tests.samples import small_example

HTML = (("content-type", b"text/html; charset=utf-8"),)


def record(
    value: bytes | None,
    *headers: tuple[str, bytes | None],
    key: bytes | None = b"k",
    topic: str = "pages.crawled.v1",
) -> Any:
    return ConsumerRecord(topic, 3, 7, 1_798_859_045_000, 0, key, value, None, 0, 0, headers)


def told(*arguments: Any, **named: Any) -> dict[str, Any]:
    text = as_json_line(record(*arguments, **named))
    assert b"\n" not in text
    return dict(json.loads(text))


def test_a_record_has_its_place_key_headers_and_value() -> None:
    assert told(b'{"url": "https://a.example/"}', ("ce_id", b"1"), ("odd", b"\xff\xfe"), ("none", None)) == {
        "topic": "pages.crawled.v1",
        "partition": 3,
        "offset": 7,
        "timestamp": "2027-01-02T03:04:05+00:00",
        "key": "k",
        "headers": {"ce_id": "1", "odd": {"base64": "//4="}, "none": None},
        "value": {"url": "https://a.example/"},
    }
    assert told(None, key=None) | {"headers": {}} == told(None, key=None)


@pytest.mark.parametrize(
    ("value", "headers", "type_"),
    [
        (b"<p>page", HTML, "text/html; charset=utf-8"),
        (b"42", HTML, "text/html; charset=utf-8"),
        (b"<p>page", (), None),
        (b"\xff\xfe\x00", (), None),
        (b'{"score": NaN}', (), None),
        (b"[" * 100_000, (), None),
        (b"1" * 5_000, (), None),
        (b"", (), None),
    ],
)
def test_non_json_value_is_shown_by_its_size(value: bytes, headers: Any, type_: str | None) -> None:
    assert told(value, *headers)["value"] == {"bytes": len(value), "content_type": type_}


def test_no_depth_is_too_much() -> None:
    """A value that is too deep for parsers is shown as its size; other values are shown whole."""
    for depth in range(800, 1000, 7):
        text = b'{"a":' * depth + b"1" + b"}" * depth
        inner, seen = told(text)["value"], 0
        while isinstance(inner, dict) and "a" in inner:
            inner, seen = inner["a"], seen + 1
        assert (inner, seen) in [(1, depth), ({"bytes": len(text), "content_type": None}, 0)], depth


def test_lone_surrogates_do_not_break_the_line() -> None:
    assert told(b'{"text": "\\ud800"}')["value"] == {"text": "\ud800"}


def test_people_see_the_decision_in_words() -> None:
    scored = small_example("pages.scored.v1").read_bytes()
    line = as_line(record(scored, key=b"https://a.example/", topic="x.pages.scored.v1"), "x.").plain
    assert line == "3/7 https://a.example/ no content (empty), score 0, tier C, label LOW"
    assert as_line(record(b"<p>page", *HTML, ("assay_url", b"https://a.example/"))).plain == "3/7 k crawled, 7 bytes"
    assert as_line(record(b'{"a": 1}')).plain.startswith("3/7 k unreadable record: invalid: ")
    assert as_line(record(b'{"a": "\x1b"}', topic="others")).plain == '3/7 k {"bytes": 10, "content_type": null}'
    assert len(as_line(record(json.dumps("x" * 5000).encode(), topic="others")).plain) < 300


def test_a_dead_letter_says_why_it_died() -> None:
    notes = (("x-reason", b"invalid"), ("x-handler", b"score_page"), ("x-error-message", b"url: missing"))
    line = as_line(record(b"{}", *notes, topic="pages.crawled.v1.assay.score_page.dlq")).plain
    assert line == "3/7 k dead letter of score_page: invalid: url: missing"


def test_marker_line_names_the_redriven_letter() -> None:
    assert as_line(record(None, ("x-redriven-of", b"41\x1b"))).plain == "3/7 k 3/41\ufffd sent again"
