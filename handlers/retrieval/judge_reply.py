"""A judge's reply on a batch: three dimensions and single sources by their numbers, or nothing.

In: text. Out: ``RetrievalReply``. Sources are named by the number they were shown under, not by an address that could
be mistyped or made up. A reply outside the protocol is no reply: nothing is clamped, no wrong type read as a right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from handlers.prompts.replies import json_object
from schemas.event import MAX_ITEMS, Score

_SCORE = {"type": "number", "minimum": 0, "maximum": 1}
REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "contextRecall": _SCORE,
        "contextPrecision": _SCORE,
        "sourceQuality": _SCORE,
        "sources": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "relevance": _SCORE, "quality": _SCORE},
                "required": ["number", "relevance", "quality"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["contextRecall", "contextPrecision", "sourceQuality", "sources"],
    "additionalProperties": False,
}
"""The reply, for servers with structured outputs."""


class _Strict(BaseModel):
    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, alias_generator=to_camel, populate_by_name=False
    )


class JudgedSource(_Strict):
    """What the judge says of one source; ``number`` counts from 1."""

    number: Annotated[int, Field(ge=1)]
    relevance: Score
    quality: Score


class RetrievalReply(_Strict):
    """What the judge said of a batch."""

    context_recall: Score
    context_precision: Score
    source_quality: Score
    sources: list[JudgedSource] = Field(max_length=MAX_ITEMS, fail_fast=True)


def read_retrieval_reply(text: str, shown: int) -> RetrievalReply | None:
    """The reply; None where it keeps not to the protocol, or speaks of a source that was not shown or of one twice.

    >>> said = '{"contextRecall": 0.5, "contextPrecision": 1, "sourceQuality": 0, "sources": [%s]}'
    >>> read_retrieval_reply(said % "", 0).context_precision
    1.0
    >>> read_retrieval_reply(said % '{"number": 2, "relevance": 1, "quality": 1}', 1) is None
    True
    """
    content = json_object(text)
    if content is None:
        return None
    try:
        reply = RetrievalReply.model_validate(content)
    except ValidationError:
        return None
    numbers = [source.number for source in reply.sources]
    return reply if len(set(numbers)) == len(numbers) and max(numbers, default=0) <= shown else None
