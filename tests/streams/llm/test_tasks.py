"""The offline judge is marked and never an outage; the journal keeps replies that the task's own reader accepts."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from handlers.reasoning.answer import AnswerRules, answer_query
from handlers.reasoning.context import ROLES, Role, order_sources
from schemas.llm import CallOutcome
from schemas.needs import Ask, AskModel
from schemas.replies import ModelFailed, ModelReply
from streams.llm.replies import Completion
from streams.llm.tasks import answer_offline, keeps_to_protocol
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from tests.handlers.reasoning.results import result
from tests.rules import shipped_rules
from tests.samples import instance
from tests.streams.llm.questions import TASK, question


def shouts(facts: Mapping[str, Any]) -> str:
    return str(facts["text"]).upper()


def test_offline_answer_is_marked_as_offline() -> None:
    reply = instance(ModelReply, answer_offline(question("yes"), {TASK: shouts}))
    assert reply.text == "YES"
    call = reply.call
    assert (call.judged_by, call.model, call.attempts, call.cost_usd, call.cached) == (
        "offline",
        "offline",
        0,
        0.0,
        False,
    )


def test_a_judge_that_stumbles_and_one_that_is_not_there() -> None:
    for need, judges in ((question(facts={}), {TASK: shouts}), (question(task="nothing"), {TASK: shouts})):
        reply = instance(ModelFailed, answer_offline(need, judges))
        assert (reply.call.judged_by, reply.call.outcome) == ("offline", CallOutcome.ERROR)


async def test_without_a_server_and_a_key_it_answers() -> None:
    services = LiveServices(load_settings())
    reply = await services.answer(question(), None)
    assert isinstance(reply, ModelReply | ModelFailed)
    assert reply.call.judged_by == "offline"
    await services.aclose()


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
