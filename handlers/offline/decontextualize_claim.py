"""The offline judge of claims: weighs the signs in a claim's wording, and replies with the number alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.claims.signs import ClaimSigns, signs_of, weigh


def answer(facts: Mapping[str, Any]) -> str:
    """The score as text, in the task's protocol (R-142).

    Args:
        facts: ``claim_text``, ``source_text``, and ``signs``: the configured word lists and weights.
    """
    section = ClaimSigns.model_validate(facts["signs"])
    return str(weigh(signs_of(facts["claim_text"], facts["source_text"], section), section))
