"""The offline judge of a search: it has the rubric's opinion and says it in the protocol of the task.

In: the facts that ``evaluate_search`` asked with. Out: the reply as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def answer(facts: Mapping[str, Any]) -> str:
    """What a model would be expected to reply, from the rubric alone (R-102)."""
    done = facts["recommendation"] == "stop"
    return json.dumps(
        {
            "satisfied": done,
            "quality_score": facts["quality_score"],
            "gaps": facts["gaps"],
            "recommendation": facts["recommendation"],
            "suggested_refinements": [] if done else facts["suggested_refinements"],
        }
    )
