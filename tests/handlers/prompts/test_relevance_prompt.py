"""What a judge of relevance is sent, word for word: a change of the prompt shows in the kept file."""

from __future__ import annotations

from pathlib import Path

from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance
from schemas.needs import Ask, AskModel
from schemas.relevance import RelevanceRequested
from tests.rules import CONFIG, shipped_rules

GOLDEN = Path(__file__).parent / "golden" / "judge_relevance.txt"
SOURCE = CONFIG.parent / "schemas" / "examples" / "relevance.requested.v1" / "steering.json"


def test_the_prompt_is_rendered_as_kept() -> None:
    source = RelevanceRequested.model_validate_json(SOURCE.read_bytes())
    answer = judge_relevance(source, shipped_rules(JudgeRelevanceRules))
    assert isinstance(answer, Ask)
    assert isinstance(answer.need, AskModel)
    rendered = "".join(f"# {message.role}\n{message.content}\n" for message in answer.need.messages)
    assert rendered == GOLDEN.read_text("utf-8")
