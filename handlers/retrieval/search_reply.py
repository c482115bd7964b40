"""A judge's reply on a search: the five fields of its protocol, or nothing.

In: text. Out: score, gaps and suggestions. What the judge recommends must be well-formed and is then left aside, for
that follows from the score. A reply outside the protocol is no reply: no number is clamped, no wrong type read as a
right one (R-097 to R-101).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.prompts.replies import json_object
from schemas.event import MAX_ITEMS, Score

REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "satisfied": {"type": "boolean"},
        "quality_score": {"type": "number", "minimum": 0, "maximum": 1},
        "gaps": {"type": "string"},
        "recommendation": {"type": "string", "enum": ["continue", "stop"]},
        "suggested_refinements": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["satisfied", "quality_score", "gaps", "recommendation", "suggested_refinements"],
    "additionalProperties": False,
}
"""The reply, for servers with structured outputs."""


class SearchReply(BaseModel):
    """What the judge said."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    satisfied: bool
    quality_score: Score
    gaps: str
    recommendation: Literal["continue", "stop"]
    suggested_refinements: list[str] = Field(max_length=MAX_ITEMS, fail_fast=True)


def read_search_reply(text: str) -> SearchReply | None:
    r"""The reply; None where it keeps not to the protocol.

    >>> said = '{"satisfied": true, "quality_score": %s, "gaps": "", "recommendation": "stop",'
    >>> said += ' "suggested_refinements": []}'
    >>> read_search_reply(said % 0.9).quality_score
    0.9
    >>> read_search_reply(said % 1.2) is None, read_search_reply("```json\n{}\n```") is None
    (True, True)
    """
    content = json_object(text)
    if content is None:
        return None
    try:
        return SearchReply.model_validate(content)
    except ValidationError:
        return None
