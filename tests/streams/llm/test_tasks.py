"""The offline judge is marked and never an outage; the journal keeps replies that the task's own reader accepts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.reasoning.answer import AnswerRules, answer_query
from handlers.reasoning.context import ROLES, Role, order_sources
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.replies import Completion, read_completion
from streams.llm.tasks import Task, answer_offline, keeps_to_protocol
from tests.handlers.reasoning.results import result
from tests.rules import shipped_rules
from tests.samples import instance
from tests.streams.llm.questions import TASK, question


def shouts(facts: Mapping[str, Any]) -> str:
    return str(facts["text"]).upper()


def test_a_judge_that_stumbles_and_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.llm.tasks.TASKS", {TASK: Task(shouts, lambda *_: True)})
    for need in (question(facts={}), question(task="nothing")):
        reply = instance(ModelFailed, answer_offline(need))
        assert (reply.call.judged_by, reply.call.outcome) == ("offline", CallOutcome.ERROR)


# --- what keeps to a task's protocol ---------------------------------------------------------------------------------


SOURCES = order_sources([result(1, title="Dam", passage="The dam was closed in May.")])


def asked(role: Role) -> AskModel:
    """The question of a role, where the offline judge has answered for the roles before it."""
    rules = shipped_rules(AnswerRules)
    replies: list[ModelReply | ModelFailed] = []
    while isinstance(step := answer_query("dam closed", SOURCES, replies, rules), Ask):
        assert isinstance(step.need, AskModel)
        if step.need.task == role:
            return step.need
        replies.append(answer_offline(step.need))
    raise AssertionError(f"the {role} was not asked")


def keeps(need: AskModel, text: str) -> bool:
    return keeps_to_protocol(need, Completion(text=text, tool_calls=(), outcome=CallOutcome.OK, usage=None))


@pytest.mark.parametrize("role", ROLES)
def test_the_offline_judge_of_a_role_keeps_to_its_protocol(role: Role) -> None:
    reply = instance(ModelReply, answer_offline(asked(role)))
    assert keeps(asked(role), reply.text)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("text", ["The dam was closed [1].", "{}", "```json\n{}\n```"])
def test_anything_else_does_not(role: Role, text: str) -> None:
    assert not keeps(asked(role), text)


def test_a_critic_has_a_verdict_on_every_finding() -> None:
    none, one = ({"verdicts": [{"finding": 1, "verdict": "supported", "because": ""}] * count} for count in (0, 1))
    assert not keeps(asked("critic"), json.dumps(none))
    assert keeps(asked("critic"), json.dumps(one))


# --- bodies that are not completions ---------------------------------------------------------------------------------


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


def test_an_empty_refusal_refuses_nothing() -> None:
    body = b'{"choices": [{"message": {"content": "Yes.", "refusal": ""}}]}'
    completion = read_completion(body, 1000, 10)
    assert completion is not None
    assert (completion.text, completion.outcome) == ("Yes.", CallOutcome.OK)


def test_arguments_that_came_as_an_object() -> None:
    body = b'{"choices": [{"message": {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}, 7]}}]}'
    completion = read_completion(body, 1000, 10)
    assert completion is not None
    assert [(call.name, call.arguments) for call in completion.tool_calls] == [("f", '{"a": 1}')]
