"""``python -m tools.training.dates``: trains the trees for the date of a page and writes them.

A candidate is right if its day is labelled. Each page counts once more without the candidates that are right, once
with those that are shown alone, and once with a part of its candidates: so the trees learn to abstain, and do not rely
on one source. Shown days of pages without a labelled date are wrong, if no metadata state a date of publication.
"""

import random
from collections.abc import Iterator

from handlers.html.published_date import Candidate, candidates, choose, measured
from handlers.text.dates import day_of
from streams.training.config import GrowthSection
from tests.rules import DATE_TREES
from tools.accuracy.labels import pages
from tools.training.trees import Page, Task, asked_of

_PARTLY, _UNLABELLED = 0.4, 0.4
"""Weights of a page with a part of its candidates, and of one without a labelled date."""
_SHARE_KEPT = 0.6


def _read(name: str) -> Iterator[Page]:
    for label in pages(name):
        for page, words in asked_of(label, "find_date"):
            found = candidates(page, words)

            def day(scores: list[float], found: list[Candidate] = found) -> str | None:
                best = choose(found, scores)
                return day_of(best.value).isoformat() if best else None

            read = Page(label, measured(found, page), day)
            days = [day_of(one.value).isoformat() for one in found]
            if label.days:
                right = [one for one, day in zip(found, days, strict=True) if day in label.days]
                draw = random.Random(label.id)
                parts = (
                    [one for one in found if one not in right],
                    [one for one in found if one.index >= 0 or one.kind == "url"],
                    [one for one in found if draw.random() < _SHARE_KEPT],
                )
                for part, weight in ((found, 1.0), *((part, _PARTLY) for part in parts if len(part) < len(found))):
                    if part:
                        read.lessons.append((measured(part, page), [float(one in right) for one in part], weight))
            elif found and not any(one.said == "published" and one.index < 0 for one in found):
                read.lessons.append((read.measures, [0.0] * len(found), _UNLABELLED))
            yield read


DATES = Task(
    "dates",
    _read,
    GrowthSection(trees=80, depth=3, rate=0.12, rows=0.7, columns=0.3, leaf_weight=1.5, penalty=4.0),
    DATE_TREES,
)

if __name__ == "__main__":
    DATES.run()
