"""Replies of the judges of a batch and of a search, read strictly: a reply outside of its protocol is no reply.

No number is clamped and no wrong type is read as a right one (R-097 to R-101). Sources are named by their numbers in
the prompt. What a judge of a search recommends must be well-formed and is not used: it follows from the score.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from handlers.prompts.replies import SCORE_SCHEMA, StrictReply, list_schema, object_schema, read_reply
from schemas.event import MAX_ITEMS, Score

BATCH_SCHEMA = object_schema(
    {
        "contextRecall": SCORE_SCHEMA,
        "contextPrecision": SCORE_SCHEMA,
        "sourceQuality": SCORE_SCHEMA,
        "sources": list_schema({"number": {"type": "integer"}, "relevance": SCORE_SCHEMA, "quality": SCORE_SCHEMA}),
    }
)
SEARCH_SCHEMA = object_schema(
    {
        "satisfied": {"type": "boolean"},
        "quality_score": SCORE_SCHEMA,
        "gaps": {"type": "string"},
        "recommendation": {"type": "string", "enum": ["continue", "stop"]},
        "suggested_refinements": {"type": "array", "items": {"type": "string"}},
    }
)


class _StrictCamel(StrictReply):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=False)


class JudgedSource(_StrictCamel):
    """What the judge says of one source; ``number`` counts from 1."""

    number: Annotated[int, Field(ge=1)]
    relevance: Score
    quality: Score


class RetrievalReply(_StrictCamel):
    """What the judge says of a batch."""

    context_recall: Score
    context_precision: Score
    source_quality: Score
    sources: list[JudgedSource] = Field(max_length=MAX_ITEMS, fail_fast=True)


class SearchReply(StrictReply):
    """What the judge says of a search."""

    satisfied: bool
    quality_score: Score
    gaps: str
    recommendation: Literal["continue", "stop"]
    suggested_refinements: list[str] = Field(max_length=MAX_ITEMS, fail_fast=True)


def read_retrieval_reply(text: str, shown: int) -> RetrievalReply | None:
    """The reply; None outside of the protocol, or if it names a source that was not shown, or one twice.

    >>> said = '{"contextRecall": 0.5, "contextPrecision": 1, "sourceQuality": 0, "sources": [%s]}'
    >>> read_retrieval_reply(said % "", 0).context_precision
    1.0
    >>> read_retrieval_reply(said % '{"number": 2, "relevance": 1, "quality": 1}', 1) is None
    True
    """
    reply = read_reply(RetrievalReply, text)
    if reply is None:
        return None
    numbers = [source.number for source in reply.sources]
    return reply if len(set(numbers)) == len(numbers) and max(numbers, default=0) <= shown else None


def read_search_reply(text: str) -> SearchReply | None:
    r"""The reply; None outside of the protocol.

    >>> said = '{"satisfied": true, "quality_score": %s, "gaps": "", "recommendation": "stop",'
    >>> said += ' "suggested_refinements": []}'
    >>> read_search_reply(said % 0.9).quality_score
    0.9
    >>> read_search_reply(said % 1.2) is None, read_search_reply("```json\n{}\n```") is None
    (True, True)
    """
    return read_reply(SearchReply, text)
