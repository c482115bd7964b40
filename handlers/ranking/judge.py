"""The judge: one question about the best candidates, and the scores of its reply.

It sees titles, passages and dates, but no trust score or label (R-253, C-39): other stages weigh trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from handlers.prompts.replies import StrictReply, read_reply
from handlers.prompts.template import AskingRules
from handlers.prompts.untrusted import Block, cleaned, one_line
from handlers.ranking.candidates import Candidate, excerpt
from handlers.ranking.config import RankingSection
from handlers.ranking.query import ReadQuery
from schemas.event import Score
from schemas.needs import AskModel

TASK = "rank_results"
_TITLE_CHARACTERS = 300
_DATE_CHARACTERS = 40
_QUERY_CHARACTERS = 2000


def ask_judge(shown: Sequence[Candidate], read: ReadQuery, section: RankingSection, rules: AskingRules) -> AskModel:
    """The question about these candidates, numbered from 1, each in a block."""
    most = section.model_ranking.max_characters
    blocks, passages = [], []
    for number, candidate in enumerate(shown, 1):
        text = excerpt(candidate.text or candidate.passage or candidate.summary, read.keywords, most)
        passage = {"title": one_line(candidate.title, _TITLE_CHARACTERS), "text": one_line(text, most)}
        published = {"published": one_line(candidate.date, _DATE_CHARACTERS)} if candidate.date else {}
        content = {"title": passage["title"] or "(no title)", **published, "text": passage["text"]}
        blocks.append(Block(f"passage {number}", content))
        passages.append(passage)
    facts = {"words": dict(read.weights), "bm25": section.bm25.model_dump(), "passages": passages}
    query = cleaned(read.text, _QUERY_CHARACTERS)
    return rules.ask(TASK, {}, {"passages": blocks, "query": query}, facts, _RankingReply)


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


def combine(fused: Sequence[float], judged: Mapping[int, float | None], weight: float) -> tuple[float, ...]:
    """The weighted mean of the judge's scores and the fused ones.

    Args:
        fused: By place.
        judged: By the places that the judge was shown; for None, the fused score counts for both. The other places keep
            their order, as if the judge had scored them with 0.
        weight: Of the judge's scores.

    >>> combine((0.8, 0.6, 0.5, 0.4), {0: 0.2, 1: 1.0, 3: None}, 0.5)
    (0.5, 0.8, 0.25, 0.4)
    """
    said = [judged.get(place, 0.0) for place in range(len(fused))]
    return tuple(
        weight * (score if given is None else given) + (1 - weight) * score
        for given, score in zip(said, fused, strict=True)
    )
