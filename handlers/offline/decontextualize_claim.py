"""The offline judge of claims: weighs the signs in a claim's wording, and replies with the number alone.

In a language that it has no lists for it would find no sign, so there it says that it has no opinion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.claims.judgment import NO_OPINION
from handlers.claims.signs import ClaimSigns, is_readable, signs_of, weigh


def answer(facts: Mapping[str, Any]) -> str:
    """The score as text, in the task's protocol (R-142), or ``NO_OPINION``.

    Args:
        facts: ``claim_text``, ``source_text``, and ``signs``: the configured word lists and weights.
    """
    section = ClaimSigns.model_validate(facts["signs"])
    claim, source = facts["claim_text"], facts["source_text"]
    if not is_readable(claim, source, section):
        return NO_OPINION
    return str(weigh(signs_of(claim, source, section), section))
