"""The messages to each judge, word for word: a change of a prompt changes the golden files."""

from pathlib import Path

import pytest

from schemas.event import Event
from schemas.needs import Ask, AskModel
from schemas.outcome import Emit
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, instance, the_handler
from tests.tables import tables

TABLES = tables(__file__)

GOLDEN = Path(__file__).parent / "golden"
STEPS = TABLES["steps"]
"""The example of the first handler's topic, and the handlers that it passes through."""


@pytest.mark.parametrize("task", STEPS)
def test_a_prompt_is_rendered_as_kept(task: str) -> None:
    example, *names = STEPS[task]
    *before, judge = (the_handler(name) for name in names)
    first = (*before, judge)[0].consumes
    event: Event = first.event.model_validate_json((EXAMPLES / first.name / f"{example}.json").read_bytes())
    for handler in before:
        outcome = instance(Emit, handler.fn(event, shipped_rules(handler.rules)))
        event = outcome.events[0]
    need = instance(AskModel, instance(Ask, judge.fn(event, shipped_rules(judge.rules))).need)
    assert need.task == task
    rendered = "".join(f"# {message.role}\n{message.content}\n" for message in need.messages)
    assert rendered == (GOLDEN / f"{task}.txt").read_text("utf-8")
