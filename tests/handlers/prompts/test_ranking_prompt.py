"""What a judge of rankings is sent, word for word: a change of the prompt shows in the kept file."""

from __future__ import annotations

from pathlib import Path

from handlers.rank_results import RankResultsRules, rank_results
from schemas.needs import Ask, AskModel
from schemas.queries import RankingRequested
from tests.rules import CONFIG, shipped_rules

GOLDEN = Path(__file__).parent / "golden" / "rank_results.txt"
QUERY = CONFIG.parent / "schemas" / "examples" / "ranking.requested.v1" / "steering.json"


def test_the_prompt_is_rendered_as_kept() -> None:
    request = RankingRequested.model_validate_json(QUERY.read_bytes())
    answer = rank_results(request, shipped_rules(RankResultsRules))
    assert isinstance(answer, Ask)
    assert isinstance(answer.need, AskModel)
    rendered = "".join(f"# {message.role}\n{message.content}\n" for message in answer.need.messages)
    assert rendered == GOLDEN.read_text("utf-8")
