"""``python -m tools.training.authors``: trains the trees for the authors of a page and writes them.

A candidate is right if it is a labelled person. Names on pages without a label are wrong, if none of them is stated for
machines. Persons are counted, not pages: a co-author who is missing is an error, and so is one who is no author.
"""

from collections.abc import Iterator
from typing import Any

from handlers.html.bylines import Credit, candidates, choose, measured
from streams.training.config import GrowthSection
from tests.rules import AUTHOR_TREES
from tools.accuracy.labels import pages
from tools.accuracy.matching import named
from tools.training.trees import Page, Task, asked_of

_UNLABELLED = 0.4
"""Weight of a page without a labelled author."""


def _read(name: str) -> Iterator[Page]:
    for label in pages(name):
        for page, words in asked_of(label, "find_credit", Credit()):
            found = candidates(page, words)
            rows = measured(found, page, words)

            def names(scores: list[float], found: Any = found, rows: Any = rows) -> tuple[str, ...]:
                credit = choose(found, rows, scores)
                # The labels of some sets name the agency if a page names no other author.
                return credit.names or credit.agencies

            read = Page(label, rows, names)
            if found and (label.authors is not None or not any(one.is_stated for one in found)):
                rights = [float(named(label.authors or (), (one.name,))) for one in found]
                read.lessons.append((rows, rights, _UNLABELLED if label.authors is None else 1.0))
            yield read


AUTHORS = Task(
    "authors",
    _read,
    GrowthSection(trees=50, depth=3, rate=0.16, rows=0.7, columns=0.4, leaf_weight=1.5, penalty=4.0),
    AUTHOR_TREES,
    seeds=(1, 2, 3),
)

if __name__ == "__main__":
    AUTHORS.run()
