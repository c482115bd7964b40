"""Bodies that are not completions."""

from hypothesis import given
from hypothesis import strategies as st

from schemas.llm import CallOutcome
from streams.llm.replies import read_completion


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
