"""What a judge of claims is sent, word for word: a change of the prompt shows in the kept file."""

from __future__ import annotations

from pathlib import Path

from handlers.decontextualize_claim import DecontextualizeClaimRules, decontextualize_claim
from schemas.claims import ExtractedClaim
from schemas.needs import Ask, AskModel
from tests.rules import CONFIG, shipped_rules

GOLDEN = Path(__file__).parent / "golden" / "decontextualize_claim.txt"
CLAIM = CONFIG.parent / "schemas" / "examples" / "claims.extracted.v1" / "steering.json"


def test_the_prompt_is_rendered_as_kept() -> None:
    claim = ExtractedClaim.model_validate_json(CLAIM.read_bytes())
    answer = decontextualize_claim(claim, shipped_rules(DecontextualizeClaimRules))
    assert isinstance(answer, Ask)
    assert isinstance(answer.need, AskModel)
    rendered = "".join(f"# {message.role}\n{message.content}\n" for message in answer.need.messages)
    assert rendered == GOLDEN.read_text("utf-8")
