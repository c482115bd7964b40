"""The relevance of candidates: what the words say, what the retriever's scores say, and a few boosts that show.

In: candidates, their corpus, the query and when it was asked. Out: one ``Fused`` a candidate, in their order, with all
parts of its score and why in words. No model and nothing learnt. Scores are from 0 to 1 and mean the same for every
query: 0 has none of its words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.bm25 import Corpus
from handlers.ranking.candidate import Candidate
from handlers.ranking.intent import ReadQuery
from handlers.ranking.sections import Bm25Section
from handlers.text.tokens import fold

# White space before a sign is matched from the beginning of its run only: otherwise a run takes quadratic time.
_SEPARATOR = re.compile(r"(?<!\s)\s++[-–—:·•»/]++\s+|(?:(?<!\s)\s++)?(?:[|｜]|::)\s*|_{1,3}")
_LEAST_REACH = 0.01
"""Relevance of the nearest candidate where none has a word of the query: the retriever's order is left."""
_DAY = 86_400.0
_AHEAD = 2.0
"""Days that a date may lie ahead, for zones and early editions; what is dated later is no news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """One candidate's place in the transparent order, and what it rests on.

    Attributes:
        vector: Similarity as the retriever gave it; None where unknown.
        bm25: As a share of its upper bound, 0 to 1; 0 where BM25 is off.
        keyword_boost: Added for keywords in the title, and for words that stand together as they were asked.
        temporal_boost: Added for what is new, where that is wanted.
        keyword_overlap: Share of the keywords in title or text, 0 to 1.
        exact_title: Whether the title is what was asked for.
        score: Relevance, 0 to 1, the higher the better.
        because: Why it is where it is, for people.
    """

    vector: float | None
    bm25: float
    keyword_boost: float
    temporal_boost: float
    keyword_overlap: float
    exact_title: bool
    score: float
    because: tuple[str, ...]


def fuse(
    candidates: Sequence[Candidate],
    corpus: Corpus,
    query: ReadQuery,
    now: datetime | None,
    section: Bm25Section,
) -> tuple[Fused, ...]:
    """Scores candidates by vectors and words together.

    Args:
        candidates: Of one query.
        corpus: Of the same candidates, in the same order.
        query: As it was read.
        now: When it was asked; None where unknown, then nothing is new.
        section: The weights; switched off, the vectors decide alone (R-257).

    Returns:
        One a candidate, in the order of ``candidates``, not sorted.
    """
    if not candidates:
        return ()
    nearness, overlap = _nearness(candidates), corpus.overlap(query.keywords)
    nearest = None if nearness is None else int(np.argmax(nearness))
    words = _words(candidates, corpus, query, now, section) if section.enabled else [_NO_WORDS] * len(candidates)
    # The vectors say which candidate is nearer than another one, and the words how near the best one is.
    reach = max(_LEAST_REACH, *(each.bm25 for each in words)) if section.enabled else 1.0
    weight = section.weight if section.enabled and nearness is not None else float(section.enabled)
    near = np.zeros(len(candidates)) if nearness is None else nearness * reach
    return tuple(
        Fused(
            vector=candidate.similarity,
            bm25=of_words.bm25,
            keyword_boost=of_words.keyword_boost,
            temporal_boost=of_words.temporal_boost,
            keyword_overlap=float(overlap[place]),
            exact_title=of_words.exact_title,
            score=_score(weight * of_words.bm25 + (1 - weight) * float(near[place]), of_words, section),
            because=_because(of_words, float(overlap[place]), query, nearest=place == nearest),
        )
        for place, (candidate, of_words) in enumerate(zip(candidates, words, strict=True))
    )


def _score(base: float, words: _Words, section: Bm25Section) -> float:
    """The boosts take their shares of what is left up to 1; then a text pays for its repetitions."""
    exact_title = section.exact_title_boost if words.exact_title else 0.0
    left = 1.0 - base
    for boost in (words.keyword_boost, exact_title, words.temporal_boost * base):
        left *= 1.0 - min(boost, 1.0)
    return (1.0 - left) * words.kept


def age_in_days(date: str | None, now: datetime) -> float | None:
    """Days since a document's date, at least 0; None where it has none that can be read. Without a zone it is UTC.

    What is dated ahead is 0 days old: models were grown with that, and its meaning is theirs. The boost asks for more.
    """
    age = _age(date, now)
    return None if age is None else max(0.0, age)


def _age(date: str | None, now: datetime) -> float | None:
    if date is None:
        return None
    try:
        then = datetime.fromisoformat(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return ((now if now.tzinfo else now.replace(tzinfo=UTC)) - then).total_seconds() / _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """What the words say of one candidate.

    ``recent`` is told of what has at least half of the boost: some of it is left after years. ``kept`` is the share of
    its score that a text keeps which repeats the query.
    """

    bm25: float
    kept: float
    keyword_boost: float
    temporal_boost: float
    recent: bool
    exact_title: bool
    together: bool


_NO_WORDS = _Words(
    bm25=0.0, kept=1.0, keyword_boost=0.0, temporal_boost=0.0, recent=False, exact_title=False, together=False
)


def _words(
    candidates: Sequence[Candidate], corpus: Corpus, query: ReadQuery, now: datetime | None, section: Bm25Section
) -> list[_Words]:
    scores, kept = corpus.scores(query.keywords), corpus.kept(query.keywords)
    in_title = corpus.title_overlap(query.keywords)
    together = corpus.phrases(query.phrases or query.neighbours)
    without_site = _without_site(query.text, query.folded)
    for_together = section.phrase_boost if query.phrases else section.neighbour_boost
    boosts = [_temporal(candidate.date, query, now, section) for candidate in candidates]
    return [
        _Words(
            bm25=float(scores[place]),
            kept=float(kept[place]),
            keyword_boost=section.keyword_boost * float(in_title[place]) + for_together * float(together[place]),
            temporal_boost=boosts[place],
            recent=0 < boosts[place] >= section.temporal_boost / 2,
            exact_title=_is_title(candidate.title, query.folded, without_site),
            together=bool(together[place] == 1.0),
        )
        for place, candidate in enumerate(candidates)
    ]


def _is_title(title: str, folded_query: str, query_without_site: tuple[str, ...]) -> bool:
    """Whether a title is what was asked for, but for case, punctuation and a site's name beside either of them."""
    folded = fold(title)
    if not folded or not folded_query:
        return False
    if folded == folded_query or folded in query_without_site:
        return True
    return folded_query in folded and folded_query in _without_site(title, folded)


def _without_site(title: str, folded: str) -> tuple[str, ...]:
    """A title without its last and without its first part, where that is the lesser one: a site's name is no title."""
    parts = [part for part in map(fold, _SEPARATOR.split(title)) if part]
    kept = (" ".join(parts[:-1]), " ".join(parts[1:])) if len(parts) > 1 else ()
    return tuple(part for part in kept if 2 * len(part) > len(folded))


def _nearness(candidates: Sequence[Candidate]) -> NDArray[np.float64] | None:
    """What the retriever's scores say, 0 to 1 within the candidates; None without scores.

    Embedders and foreign retrievers have scales of their own, so only where a score lies between the least and the
    greatest counts. The order of candidates without scores says nothing: many sources list theirs by date or by name.
    """
    scores = np.array([math.nan if each.similarity is None else each.similarity for each in candidates])
    known = np.isfinite(scores)
    if not known.any():
        return None
    # Halved, for the span of what a foreign retriever says may be more than a float holds.
    scores = np.where(known, scores, scores[known].min()) / 2
    span = scores.max() - scores.min()
    return np.asarray((scores - scores.min()) / span if span > 0 else known, dtype=np.float64)


def _temporal(date: str | None, query: ReadQuery, now: datetime | None, section: Bm25Section) -> float:
    if now is None or not query.wants_news or (age := _age(date, now)) is None or age < -_AHEAD:
        return 0.0
    age = max(0.0, age)
    return float(section.temporal_boost * 0.5 ** (age / section.half_life_days))


def _because(of_words: _Words, overlap: float, query: ReadQuery, *, nearest: bool) -> tuple[str, ...]:
    signs, asked = [], len(query.keywords)
    if of_words.exact_title:
        signs.append("title is the query")
    if asked:
        signs.append(f"{round(overlap * asked)} of {asked} words in the text")
    if of_words.together:
        signs.append("has the quoted phrase" if query.phrases else "has the words side by side")
    if nearest:
        signs.append("best score of the retriever")
    if of_words.recent:
        signs.append("recent")
    if of_words.kept < 1:
        signs.append("repeats words of the query, which counts against it")
    return tuple(signs)
