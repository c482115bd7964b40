"""A handler that hands state to the shell with its question does not repeat that work for the reply."""

from __future__ import annotations

import pytest

from schemas.llm import CallOutcome, LlmCall
from schemas.needs import Ask
from schemas.outcome import Emit
from schemas.replies import ModelFailed
from streams.topology import handler_named
from streams.topology.codec import decode
from tests.rules import shipped_rules
from tests.samples import EXAMPLES, instance

FAILED = ModelFailed(
    LlmCall(judged_by="model", model="m", prompt_version="v", temperature=0.0, outcome=CallOutcome.TIMEOUT), "late"
)


@pytest.mark.parametrize(
    ("handler", "example", "work"),
    [
        ("rank_results", "own_candidates_zh", "handlers.ranking.stages.weigh"),
        ("evaluate_search", "laptop_offers", "handlers.evaluate_search.assess"),
    ],
)
def test_a_reply_does_not_repeat_the_work_before_the_question(
    handler: str, example: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = handler_named(handler)
    assert declared is not None
    file = EXAMPLES / declared.consumes.name / f"{example}.json"
    event = instance(declared.consumes.event, decode(declared.consumes, file.read_bytes(), (), None))
    rules = shipped_rules(declared.rules)
    asked = declared.fn(event, rules)
    assert isinstance(asked, Ask)
    done: list[object] = []
    monkeypatch.setattr(work, lambda *given: done.append(given))
    with pytest.raises((TypeError, AttributeError)):
        declared.resume(event, (FAILED,), rules, None)
    assert done, "without the state, the work is done again"
    done.clear()
    resumed = declared.resume(event, (FAILED,), rules, asked.state)
    assert not isinstance(resumed, Ask)
    assert isinstance(resumed, Emit)
    assert not done
