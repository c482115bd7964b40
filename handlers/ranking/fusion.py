"""The transparent order of candidates: what the vectors say, what the words say, and a few boosts that show.

In: candidates, their corpus, the query and when it was asked. Out: one ``Fused`` a candidate, in their order, with all
parts of its score and why in words. No model and nothing learnt: this order stands where trees are off or unsure.
"""

from __future__ import annotations

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
from handlers.ranking.tokens import fold

_SEPARATOR = re.compile(r"\s+[-–—:·•»/]+\s+|\s*[|｜]\s*|\s*::\s*|_{1,3}")
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """One candidate's place in the transparent order, and what it rests on.

    Attributes:
        vector: Similarity as the retriever gave it; None where unknown.
        bm25: As Robertson has it, not normalised; 0 where BM25 is off.
        keyword_boost: Added for keywords in the title.
        temporal_boost: Added for what is new, where that is wanted.
        keyword_overlap: Share of the keywords in title or text, 0 to 1.
        exact_title: Whether the title is what was asked for.
        score: By which candidates are ordered, the higher the better; from 0 to 1 without the boosts.
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
    nearness = _nearness(candidates)
    words = corpus.scores(query.keywords) if section.enabled else np.zeros(len(candidates))
    top = float(words.max())
    weight = section.weight if top > 0 else 0.0
    overlap, in_title = corpus.overlap(query.keywords), corpus.title_overlap(query.keywords)
    nearest = int(np.argmax(nearness))
    fused = []
    for place, candidate in enumerate(candidates):
        exact = is_exact_title(candidate.title, query.folded)
        keyword = section.keyword_boost * float(in_title[place]) if section.enabled else 0.0
        temporal = _temporal(candidate.date, query, now, section) if section.enabled else 0.0
        score = (1 - weight) * float(nearness[place]) + weight * (float(words[place]) / top if top > 0 else 0.0)
        score += keyword + temporal + (section.exact_title_boost if exact and section.enabled else 0.0)
        because = _because(exact, float(overlap[place]), len(query.keywords), temporal > 0, place == nearest, candidate)
        fused.append(
            Fused(
                vector=candidate.similarity,
                bm25=float(words[place]),
                keyword_boost=keyword,
                temporal_boost=temporal,
                keyword_overlap=float(overlap[place]),
                exact_title=exact,
                score=score,
                because=because,
            )
        )
    return tuple(fused)


def is_exact_title(title: str, folded_query: str) -> bool:
    """Whether a title is what was asked for, but for case, punctuation and a site's name beside it.

    >>> is_exact_title("Rain in Taipei! - The Site", "rain in taipei")
    True
    """
    if not folded_query:
        return False
    if fold(title) == folded_query:
        return True
    parts = [part for part in map(fold, _SEPARATOR.split(title)) if part]
    if len(parts) < 2:
        return False
    # What is left out has to be the lesser part, so that a site's name alone is no title.
    return any(
        " ".join(kept) == folded_query and len(folded_query) > len(left_out)
        for kept, left_out in ((parts[:-1], parts[-1]), (parts[1:], parts[0]))
    )


def _nearness(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """What the retriever says, 0 to 1 within the candidates: its scores, else its order."""
    known = [candidate.similarity for candidate in candidates if candidate.similarity is not None]
    if not known:
        places = np.array([candidate.position for candidate in candidates], dtype=np.float64)
        return np.asarray(1.0 - places / (places.max() + 1.0), dtype=np.float64)
    least, span = min(known), max(known) - min(known)
    return np.array(
        [
            0.0 if candidate.similarity is None else (candidate.similarity - least) / span if span > 0 else 1.0
            for candidate in candidates
        ]
    )


def _temporal(date: str | None, query: ReadQuery, now: datetime | None, section: Bm25Section) -> float:
    if now is None or not query.wants_news or (age := age_in_days(date, now)) is None:
        return 0.0
    return float(section.temporal_boost * 0.5 ** (age / section.half_life_days))


def age_in_days(date: str | None, now: datetime) -> float | None:
    """Days since a document's date, at least 0; None where it has none that can be read. Without a zone it is UTC."""
    if date is None:
        return None
    try:
        then = datetime.fromisoformat(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, ((now if now.tzinfo else now.replace(tzinfo=UTC)) - then).total_seconds() / _DAY)


def _because(
    exact: bool, overlap: float, keywords: int, recent: bool, nearest: bool, candidate: Candidate
) -> tuple[str, ...]:
    signs = []
    if exact:
        signs.append("title is the query")
    if keywords:
        signs.append(f"{round(overlap * keywords)} of {keywords} words in the text")
    if nearest:
        signs.append("nearest by vector" if candidate.similarity is not None else "first of the retriever")
    if recent:
        signs.append("recent")
    return tuple(signs)
