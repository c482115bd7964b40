"""What is reported about a model whose breaker is open: our own text, and none of the server's."""

import pytest
from structlog.testing import capture_logs

from schemas.replies import ModelUnavailable
from streams.llm.settings import TaskPolicy
from tests.streams.llm.model_server import model_server, status
from tests.streams.llm.questions import gateway_at, question

OWN_QUESTION = "Is Ann Chen ill?"
PATIENT = TaskPolicy(deadline_seconds=5.0, patience_seconds=5.0, attempts=2)


async def asked_twice(base_url: str) -> tuple[str, str, ModelUnavailable]:
    """The log entry when a model's breaker opens, and the replies to the first and the second question."""
    with capture_logs() as logs:
        async with gateway_at(base_url, policy=PATIENT, breaker_failures=1, breaker_first_seconds=600) as gateway:
            first = await gateway.answer(question(OWN_QUESTION))
            second = await gateway.answer(question("Is it?"))
    [line] = [line for line in logs if line["event"] == "model circuit breaker open"]
    assert isinstance(first, ModelUnavailable)
    assert isinstance(second, ModelUnavailable)
    assert OWN_QUESTION not in first.cause + second.cause
    return line["last_trouble"], first.detail, second


@pytest.mark.parametrize("code", [401, 500])
async def test_server_message_is_returned_only_to_its_question(code: int) -> None:
    async with model_server(status(code, message=f"can't answer {OWN_QUESTION}")) as server:
        last_trouble, first, second = await asked_twice(server.base_url)
    assert OWN_QUESTION in first
    assert OWN_QUESTION not in last_trouble + second.detail
    assert last_trouble.startswith(f"status {code} some_error")
    assert second.cause == second.detail
