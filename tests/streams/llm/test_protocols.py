"""The journal keeps replies that the task's own reader accepts."""

import json

import pytest

from handlers.reasoning.answer import AnswerRules, answer_query
from handlers.reasoning.context import ROLES, Role, order_sources
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.replies import Completion
from streams.llm.tasks import answer_offline, keeps_to_protocol
from tests.handlers.reasoning.results import result
from tests.rules import shipped_rules
from tests.samples import instance

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
