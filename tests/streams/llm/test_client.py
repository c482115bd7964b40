"""Retry-After, and bodies that are not completions."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.llm import CallOutcome
from streams.llm.client import retry_after
from streams.llm.replies import read_completion
from tests.streams.doubles import START


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": (START + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")}, 90.0),
        ({"retry-after": "Mon, 01 Jan 2001 00:00:00 GMT"}, 0.0),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1.2.3"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after": "9" * 400}, 999_999_999_999.0),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, START) == seconds


@given(st.text())
def test_retry_after_is_total(text: str) -> None:
    wish = retry_after({"retry-after": text}, START)
    assert wish is None or wish >= 0


@given(st.binary())
def test_any_bytes(body: bytes) -> None:
    read_completion(body, 1000, 10)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON, JSON, JSON)
def test_any_values(content: object, calls: object, reason: object, usage: object) -> None:
    import json

    body = {
        "choices": [{"message": {"content": content, "tool_calls": calls}, "finish_reason": reason}],
        "usage": usage,
    }
    completion = read_completion(json.dumps(body).encode(), 1000, 10)
    if completion is not None and completion.outcome is CallOutcome.OK:
        assert completion.text.strip() or completion.tool_calls


def test_arguments_that_came_as_an_object() -> None:
    body = b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}, 7]}}]}'
    completion = read_completion(body, 1000, 10)
    assert completion is not None
    assert [(call.name, call.arguments) for call in completion.tool_calls] == [("f", '{"a": 1}')]
