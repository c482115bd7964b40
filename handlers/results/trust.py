"""The trust score of a result, by the rules of pages: of the page that it has, else of its source."""

from __future__ import annotations

from handlers.html.content import PageFacts
from handlers.trust.labels import LABELS, Thresholds, label_for
from handlers.trust.score import Observations, ScorePoints, score_trust
from handlers.trust.sources import Source

_HIGHEST = 100


def score_result(facts: PageFacts | None, source: Source, points: ScorePoints, labels: Thresholds) -> float | None:
    """The score of a page, as ``score_page`` has it. Without a page that can be read, that of the source."""
    if facts is None:
        return _of_source(source, labels)
    score = score_trust(source.base_score, "", Observations.of(facts), points).total
    if score <= source.base_score and source.standing == "unlisted":
        return None  # nothing is known of the page
    return score


def _of_source(source: Source, labels: Thresholds) -> float | None:
    """The middle of the scores with the label of a listed source (C-41), 0 for a contested one."""
    if source.standing != "listed":
        return None if source.standing == "unlisted" else 0.0
    begins = _HIGHEST, labels.upper, labels.middle, 0
    place = LABELS.index(label_for(None, source.tier, labels).label)
    return (begins[place] + begins[place + 1]) / 2
