"""The trust score of a result, by the rules of pages: of the page that it has, else of its source."""

from __future__ import annotations

from handlers.html.content import PageFacts, PageReader
from handlers.html.limits import parse_within
from handlers.html.reading import PageReadingSection
from handlers.text.patterns import DetailPatterns
from handlers.trust.labels import LABELS, Thresholds, label_for
from handlers.trust.score import Observations, ScorePoints, score_trust
from handlers.trust.sources import Source

_HIGHEST = 100


class ResultTrust:
    """Scores results under one configuration; its word lists are compiled once."""

    def __init__(
        self, reading: PageReadingSection, details: DetailPatterns, points: ScorePoints, labels: Thresholds
    ) -> None:
        self._reading = reading
        self._reader = PageReader(reading, details)
        self._points = points
        self._labels = labels

    def score(self, html: str, url: str, source: Source) -> float | None:
        """The score of a page, as ``score_page`` has it. Without a page that can be read, that of the source."""
        tree = parse_within(html.encode("utf-8", "replace"), self._reading) if html else ""
        if isinstance(tree, str):
            return self._of_source(source)
        facts = self._reader.read(tree, url, None)
        seen = Observations.of(facts)
        score = score_trust(source.base_score, "", seen, self._points).total
        if score <= source.base_score and source.standing == "unlisted":
            return None  # nothing is known of the page
        if _addresses_models(facts):
            return min(score, self._labels.most_below(score, source.tier, source.standing))
        return score

    def _of_source(self, source: Source) -> float | None:
        """The middle of the scores with the label of a listed source (C-41), 0 for a contested one."""
        if source.standing != "listed":
            return None if source.standing == "unlisted" else 0.0
        begins = _HIGHEST, self._labels.upper, self._labels.middle, 0
        place = LABELS.index(label_for(None, source.tier, self._labels).label)
        return (begins[place] + begins[place + 1]) / 2


def _addresses_models(facts: PageFacts) -> bool:
    return bool(facts.suspected) or any(one.outcome == "quarantined" for one in facts.hidden)
