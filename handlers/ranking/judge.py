"""Ranking by a judge: one question about the best candidates, and what becomes of its answer.

In: the candidates in the order of the fused scores. Out: an ``AskModel``, and from the reply a score in [0, 1] for each
candidate that it named. The judge sees titles, passages and dates. What a page is trusted with, it is never shown, as a
number or otherwise (R-253, C-39): trust is weighed by other stages, and a judge that saw it would weigh it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.prompts.model_tasks import ModelTask
from handlers.prompts.replies import json_object
from handlers.prompts.template import Template, render
from handlers.prompts.untrusted import Block, cleaned
from handlers.ranking.candidate import Candidate
from handlers.ranking.sections import Bm25Section, ModelRankingSection
from handlers.text.sentences import sentence_ends
from schemas.event import Score
from schemas.needs import AskModel

if TYPE_CHECKING:
    from handlers.ranking.intent import ReadQuery

TASK = "rank_results"
_TITLE_CHARACTERS = 300
_DATE_CHARACTERS = 40
_QUERY_CHARACTERS = 2000
_MOST_PLACES = 20
REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "scores": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "score": {"type": "number", "minimum": 0, "maximum": 1}},
                "required": ["number", "score"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["scores"],
    "additionalProperties": False,
}
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

    Args:
        shown: The candidates.
        read: The query.
        template: Of the prompt.
        task: How a model is asked.
        section: How much of a passage is shown.
        bm25: By which the offline judge counts words.
    """
    most = section.max_characters
    passages = [
        (_line(candidate.title, _TITLE_CHARACTERS), _line(excerpt(_text(candidate), read.keywords, most), most))
        for candidate in shown
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


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class _Scored(_Strict):
    number: Annotated[int, Field(ge=1)]
    score: Score


class _RankingReply(_Strict):
    scores: list[_Scored] = Field(max_length=100, fail_fast=True)


def read_ranking_reply(text: str, shown: int) -> dict[int, float] | None:
    """Scores by number; None where the reply keeps not to the protocol.

    Nor does one that names a number that was not shown, or one twice, or none at all. Some numbers may be missing: of
    those the judge has said nothing.

    Args:
        text: The reply as it came.
        shown: How many candidates the judge was shown.

    >>> read_ranking_reply('{"scores": [{"number": 2, "score": 0.5}]}', 2)
    {2: 0.5}
    >>> read_ranking_reply('{"scores": [{"number": 3, "score": 0.5}]}', 2) is None
    True
    """
    content = json_object(text)
    if content is None:
        return None
    try:
        reply = _RankingReply.model_validate(content)
    except ValidationError:
        return None
    scores = {scored.number: scored.score for scored in reply.scores}
    return scores if len(scores) == len(reply.scores) and 0 < max(scores, default=0) <= shown else None


def combine(fused: Sequence[float], judged: Mapping[int, float], shown: int, weight: float) -> tuple[float, ...]:
    """What the judge and the fused scores come to together, for candidates in the order of their fused scores.

    A candidate that was shown has ``weight`` of the judge's score and the rest of its fused one; where the judge said
    nothing of it, its fused score stands for both. Those that were not shown keep their order below the last place that
    a shown one could take, as if the judge had given them nothing.

    Args:
        fused: In [0, 1], not rising.
        judged: The judge's scores by number, from 1.
        shown: How many it was shown, the first ones.
        weight: Of the judge's scores, in [0, 1].

    >>> combine((0.8, 0.6, 0.4), {1: 0.2, 2: 1.0}, 2, 0.5)
    (0.5, 0.8, 0.2)
    """
    return tuple(
        weight * (judged.get(place + 1, score) if place < shown else 0.0) + (1 - weight) * score
        for place, score in enumerate(fused)
    )


def excerpt(text: str, words: Sequence[str], most: int) -> str:
    """The part of a text that has the most of a query's words, the first of those that have as many.

    What was found lies anywhere in a text, and a judge that is shown its beginning alone finds nothing there.

    Args:
        text: Of a candidate.
        words: As the query was read, folded.
        most: Characters.

    >>> excerpt("It rains a lot here. " * 3 + "The boat race is on Sunday. Bring an umbrella.", ("boat", "race"), 30)
    'The boat race is on Sunday. Br'
    """
    if len(text) <= most:
        return text
    places = sorted(_places(text.casefold(), words))
    start = best = first = 0
    there: Counter[str] = Counter()
    left = right = 0
    for place, _ in places:
        begin = max(0, place - most // 4)
        while right < len(places) and places[right][0] < begin + most:
            there[places[right][1]] += 1
            right += 1
        while places[left][0] < begin:
            there[places[left][1]] -= 1
            left += 1
        if (met := len(+there)) > best:
            start, best, first = begin, met, places[left][0]
    if start:
        # From the beginning of a sentence on, where one begins before the first of the words.
        start += max(sentence_ends(text[start:first]), default=0)
    return text[start : start + most].lstrip()


def _places(folded: str, words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Where words stand, each so often at most."""
    for word in words:
        at = folded.find(word)
        for _ in range(_MOST_PLACES):
            if at < 0:
                break
            yield at, word
            at = folded.find(word, at + len(word))


def _text(candidate: Candidate) -> str:
    return candidate.text or candidate.passage or candidate.summary


def _line(text: str, most: int) -> str:
    """The beginning of a text on one line; at most ``4 * most`` characters are read."""
    return cleaned(" ".join(text[: 4 * most].split()), most)


def _shown(title: str, date: str | None, text: str) -> dict[str, str]:
    published = {"published": _line(date, _DATE_CHARACTERS)} if date else {}
    return {"title": title or "(no title)", **published, "text": text}
