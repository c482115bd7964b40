"""The offline judge of a batch: the words that query and results share, said in the protocol of the task.

In: the facts that ``evaluate_retrieval`` asked with, which are its fallback. Out: the reply as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def answer(facts: Mapping[str, Any]) -> str:
    """The three dimensions that were counted; of single sources it has no opinion of its own."""
    dimensions = ("contextRecall", "contextPrecision", "sourceQuality")
    return json.dumps({name: facts[name] for name in dimensions} | {"sources": []})
