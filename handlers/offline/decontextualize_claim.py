"""The offline judge of claims: replies with the number that a claim's wording is worth, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.claims.wording import ClaimWording, features_of, score_of


def answer(facts: Mapping[str, Any]) -> str:
    """The score as text, in the task's protocol (R-142), or one of ``ABSTENTIONS``.

    Args:
        facts: ``claim_text``, ``source_text``, and ``wording``: the configured word lists and weights.
    """
    section = ClaimWording.model_validate(facts["wording"])
    features = features_of(facts["claim_text"], facts["source_text"], section)
    if features is None:
        return "unknown language"
    score = score_of(features, section)
    return "undecided" if score is None else str(score)
