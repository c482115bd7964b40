"""Transparent relevance of candidates: BM25 and the retriever's scores fused, with a few boosts.

Nothing is learnt. Scores are from 0 to 1 and comparable between queries: 0 has none of the query's words.
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
from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.ranking.query import ReadQuery
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
    """The relevance of one candidate, and its parts.

    Attributes:
        vector: Similarity as the retriever gave it; None where unknown.
        bm25: As a share of its upper bound, 0 to 1; 0 where BM25 is off.
        keyword_boost: For keywords in the title, and for words that are adjacent as in the query.
        temporal_boost: For new documents, where the query wants news.
        keyword_overlap: Share of the keywords in title or text, 0 to 1.
        exact_title: Whether the title is the query.
        score: Relevance, 0 to 1, the higher the better.
        because: The reasons of the score, for people.
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
    candidates: Sequence[Candidate], corpus: Corpus, query: ReadQuery, now: datetime | None, section: Bm25Section
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
    words = float(section.enabled)
    nearness, overlap = _nearness(candidates), corpus.overlap(query.keywords)
    bm25 = words * corpus.scores(query.keywords)
    kept = 1.0 - words * (1.0 - corpus.kept(query.keywords))
    together = corpus.phrases(query.phrases or query.neighbours)
    for_together = section.phrase_boost if query.phrases else section.neighbour_boost
    boosts = words * (section.keyword_boost * corpus.title_overlap(query.keywords) + for_together * together)
    news = np.array([words * _news(candidate.date, query, now, section) for candidate in candidates])
    shortened = _without_site(query.text, query.folded)
    titles = [section.enabled and _is_title(each.title, query.folded, shortened) for each in candidates]
    base = bm25
    if nearness is not None:
        # The vectors say which candidate is nearer than another one, and the words how near the best one is.
        reach = max(_LEAST_REACH, bm25.max()) if section.enabled else 1.0
        base = words * section.weight * bm25 + (1 - words * section.weight) * (nearness * reach)
    # Each boost takes its share of what is left up to 1; then a text pays for its repetitions.
    left = (1.0 - base) * (1.0 - np.minimum(boosts, 1.0))
    left *= 1.0 - min(section.exact_title_boost, 1.0) * np.array(titles, dtype=np.float64)
    scores = (1.0 - left * (1.0 - news * base)) * kept
    nearest = None if nearness is None else int(np.argmax(nearness))
    fused = []
    for place, candidate in enumerate(candidates):
        because = []
        if titles[place]:
            because.append("title is the query")
        if asked := len(query.keywords):
            because.append(f"{round(overlap[place] * asked)} of {asked} words in the text")
        if section.enabled and together[place] == 1.0:
            because.append("has the quoted phrase" if query.phrases else "has the words side by side")
        if place == nearest:
            because.append("best score of the retriever")
        if 0 < news[place] >= section.temporal_boost / 2:
            because.append("recent")
        if kept[place] < 1:
            because.append("repeats words of the query, which counts against it")
        fused.append(
            Fused(
                vector=candidate.similarity,
                bm25=float(bm25[place]),
                keyword_boost=float(boosts[place]),
                temporal_boost=float(news[place]),
                keyword_overlap=float(overlap[place]),
                exact_title=titles[place],
                score=float(scores[place]),
                because=tuple(because),
            )
        )
    return tuple(fused)


def age_in_days(date: str | None, now: datetime) -> float | None:
    """Days since a document's date (UTC without a zone), below 0 for a future one; None where it can't be read."""
    if date is None:
        return None
    try:
        then = datetime.fromisoformat(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return ((now if now.tzinfo else now.replace(tzinfo=UTC)) - then).total_seconds() / _DAY


def _news(date: str | None, query: ReadQuery, now: datetime | None, section: Bm25Section) -> float:
    if now is None or not query.wants_news or (age := age_in_days(date, now)) is None or age < -_AHEAD:
        return 0.0
    return float(section.temporal_boost * 0.5 ** (max(0.0, age) / section.half_life_days))


def _is_title(title: str, folded_query: str, query_without_site: tuple[str, ...]) -> bool:
    """Whether a title is the query, but for case, punctuation and a site's name beside either of them."""
    folded = fold(title)
    if not folded or not folded_query:
        return False
    if folded == folded_query or folded in query_without_site:
        return True
    return folded_query in folded and folded_query in _without_site(title, folded)


def _without_site(title: str, folded: str) -> tuple[str, ...]:
    """A title without its last and without its first part, where that is the lesser one."""
    parts = [part for part in map(fold, _SEPARATOR.split(title)) if part]
    kept = (" ".join(parts[:-1]), " ".join(parts[1:])) if len(parts) > 1 else ()
    return tuple(part for part in kept if 2 * len(part) > len(folded))


def _nearness(candidates: Sequence[Candidate]) -> NDArray[np.float64] | None:
    """The retriever's scores as shares of their span, 0 to 1; None without scores.

    Embedders and foreign retrievers have different scales. Without scores their order says nothing: many sources list
    theirs by date or by name.
    """
    scores = np.array([math.nan if each.similarity is None else each.similarity for each in candidates])
    known = np.isfinite(scores)
    if not known.any():
        return None
    # Halved, for the span of what a foreign retriever says may be more than a float holds.
    scores = np.where(known, scores, scores[known].min()) / 2
    span = scores.max() - scores.min()
    return np.asarray((scores - scores.min()) / span if span > 0 else known, dtype=np.float64)
