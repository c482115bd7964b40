"""The judge: one question about the best candidates, and the scores of its reply.

It sees titles, passages and dates, but no trust score or label (R-253, C-39): other stages weigh trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from handlers.prompts.replies import SCORE_SCHEMA, StrictReply, list_schema, object_schema, read_reply
from handlers.prompts.template import ModelTask, Template, render
from handlers.prompts.untrusted import Block, cleaned
from handlers.ranking.candidates import Candidate, excerpt
from handlers.ranking.config import Bm25Section, ModelRankingSection
from schemas.event import Score
from schemas.needs import AskModel

if TYPE_CHECKING:
    from handlers.ranking.query import ReadQuery

TASK = "rank_results"
_TITLE_CHARACTERS = 300
_DATE_CHARACTERS = 40
_QUERY_CHARACTERS = 2000
REPLY_SCHEMA = object_schema({"scores": list_schema({"number": {"type": "integer"}, "score": SCORE_SCHEMA})})
"""The reply, for servers with structured outputs."""


def ask_judge(
    shown: Sequence[Candidate],
    read: ReadQuery,
    template: Template,
    task: ModelTask,
    section: ModelRankingSection,
    bm25: Bm25Section,
) -> AskModel:
    """The question about these candidates, numbered from 1 as they come, each in a block that its text can't leave.

    ``bm25`` is for the offline judge, which counts words.
    """
    most = section.max_characters
    texts = (candidate.text or candidate.passage or candidate.summary for candidate in shown)
    passages = [
        (_line(candidate.title, _TITLE_CHARACTERS), _line(excerpt(text, read.keywords, most), most))
        for candidate, text in zip(shown, texts, strict=True)
    ]
    blocks = [
        Block(f"passage {number}", _shown(title, candidate.date, text))
        for number, (candidate, (title, text)) in enumerate(zip(shown, passages, strict=True), 1)
    ]
    query = cleaned(read.text, _QUERY_CHARACTERS)
    messages = render(template, {}, {"passages": blocks, "query": query})
    facts = {
        "words": list(read.keywords),
        "bm25": bm25.model_dump(),
        "passages": [{"title": title, "text": text} for title, text in passages],
    }
    return AskModel(TASK, template.version, messages, facts, task.max_tokens, task.temperature, schema=REPLY_SCHEMA)


class _Scored(StrictReply):
    number: Annotated[int, Field(ge=1)]
    score: Score


class _RankingReply(StrictReply):
    scores: list[_Scored] = Field(max_length=100, fail_fast=True)


def read_ranking_reply(text: str, shown: int) -> dict[int, float] | None:
    """Scores by number, at least one; some of the ``shown`` numbers may be missing.

    None for a reply outside the protocol, which is also one with an unknown number or with a number twice.

    >>> read_ranking_reply('{"scores": [{"number": 2, "score": 0.5}]}', 2)
    {2: 0.5}
    >>> read_ranking_reply('{"scores": [{"number": 3, "score": 0.5}]}', 2) is None
    True
    """
    reply = read_reply(_RankingReply, text)
    if reply is None:
        return None
    scores = {scored.number: scored.score for scored in reply.scores}
    return scores if len(scores) == len(reply.scores) and 0 < max(scores, default=0) <= shown else None


def combine(fused: Sequence[float], judged: Mapping[int, float], shown: int, weight: float) -> tuple[float, ...]:
    """The weighted mean of the judge's scores (by number, from 1) and the fused ones, which do not rise.

    Where the judge did not score one of the first ``shown`` candidates, its fused score counts for both. The others
    keep their order, as if the judge had scored them with 0.

    >>> combine((0.8, 0.6, 0.4), {1: 0.2, 2: 1.0}, 2, 0.5)
    (0.5, 0.8, 0.2)
    """
    return tuple(
        weight * (judged.get(place + 1, score) if place < shown else 0.0) + (1 - weight) * score
        for place, score in enumerate(fused)
    )


def _line(text: str, most: int) -> str:
    """The beginning of a text on one line; at most ``4 * most`` characters are read."""
    return cleaned(" ".join(text[: 4 * most].split()), most)


def _shown(title: str, date: str | None, text: str) -> dict[str, str]:
    published = {"published": _line(date, _DATE_CHARACTERS)} if date else {}
    return {"title": title or "(no title)", **published, "text": text}
