"""The offline judge: marked as offline, and never an outage."""

from collections.abc import Mapping
from typing import Any

from schemas.llm import CallOutcome
from schemas.replies import ModelFailed, ModelReply
from streams.llm.tasks import answer_offline
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
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
