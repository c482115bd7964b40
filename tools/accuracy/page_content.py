"""Content by page type on the open pages of WCXB: word F1 by its metric, and the snippets that belong to it or do not.

Shipped trees have seen these pages. So each page is also read by trees that were grown without its site.
"""

from __future__ import annotations

from collections import defaultdict

from tools.accuracy.contestants import ASSAY, RESILIPARSE, TRAFILATURA, answers, ask_resiliparse, decoded
from tools.accuracy.labels import LabelledPage, pages
from tools.accuracy.measure import flat
from tools.accuracy.word_f1 import PAGES, WEIGHTS, weighted, word_f1, words
from tools.table import markdown
from tools.training.content import by_site

BY_SITE = "assay, trees of other sites"


def run() -> list[str]:
    """The tables; nothing where the pages are not here."""
    texts = by_site()
    if not texts:
        return []
    said: dict[str, dict[str, str]] = defaultdict(dict)
    labelled: dict[str, LabelledPage] = {}
    for page, found in answers(pages(PAGES)):
        labelled[page.id] = page
        said[page.id] |= {name: found[name].text or "" for name in (ASSAY, TRAFILATURA) if name in found}
        said[page.id][BY_SITE] = texts.get(page.id, "")
        if (text := ask_resiliparse(decoded(page.body()))) is not None:
            said[page.id][RESILIPARSE] = text
    scores = _scores(labelled, said)
    who = [name for name in (BY_SITE, ASSAY, TRAFILATURA, RESILIPARSE) if name in scores]
    means = {name: {kind: _mean(scores[name][kind]) for kind in WEIGHTS} for name in who}
    rows = [[kind, len(scores[BY_SITE][kind]), *(f"{means[name][kind]:.3f}" for name in who)] for kind in WEIGHTS]
    rows.append(["weighted", len(labelled), *(f"{weighted(means[name]):.3f}" for name in who)])
    snippets = [
        [what, *(f"{_share(labelled, said, name, wanted):.3f}" for name in who)]
        for what, wanted in (("must_contain: more is better", True), ("must_not_contain: less is better", False))
    ]
    return [
        markdown("### Content by page type: word F1", ["page type", "pages", *who], rows),
        markdown("", ["snippets", *who], snippets),
    ]


def _scores(labelled: dict[str, LabelledPage], said: dict[str, dict[str, str]]) -> dict[str, dict[str, list[float]]]:
    """The F1 of each page by contestant and page type."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, page in labelled.items():
        reference = words(page.gold_text or "")
        for name, text in said[place].items():
            scores[name][page.kind or ""].append(word_f1(reference, words(text)))
    return scores


def _share(labelled: dict[str, LabelledPage], said: dict[str, dict[str, str]], name: str, is_wanted: bool) -> float:
    """How many of the snippets that belong to the text, or of those that do not, are in it."""
    found = [
        flat(snippet) in text
        for place, page in labelled.items()
        for text in [flat(said[place].get(name, ""))]
        for snippet in (page.must_contain if is_wanted else page.must_not_contain)
    ]
    return _mean([float(is_found) for is_found in found])


def _mean(values: list[float]) -> float:
    return sum(values) / (len(values) or 1)
