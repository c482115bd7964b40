"""Main text: how much of what belongs to it is there, and how much of what does not has slipped in.

Snippets are counted one by one over all pages of a set (micro). White space, case and the shape of quotes and dashes do
not count, for the contestants print them each in their own way.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict

from tools.accuracy.contestants import ASSAY, TRAFILATURA
from tools.accuracy.counting import Miss, Tally
from tools.accuracy.features import Asked
from tools.accuracy.matching import overlap

_SHAPES = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u200b": None, "\xad": None}
)


def snippets(asked: Asked) -> list[Tally]:
    """Two tallies, of ``must_contain`` and of ``must_not_contain``; what is found counts as right in both."""
    wanted = Tally("must_contain: share of the snippets found, more is better", (ASSAY, TRAFILATURA))
    unwanted = Tally("must_not_contain: share of the snippets found, less is better", (ASSAY, TRAFILATURA))
    for page, answers in asked:
        if not page.must_contain and not page.must_not_contain:
            continue
        said = {name: flat(answers[name].text or "") for name in wanted.contestants if name in answers}
        for tally, labels, is_wanted in ((wanted, page.must_contain, True), (unwanted, page.must_not_contain, False)):
            for label in labels:
                found = {name: flat(label) in text for name, text in said.items()}
                for name, is_found in found.items():
                    tally.add(page.set, name, is_right=is_found, is_answered=is_found, kind=page.kind)
                if found[ASSAY] is not is_wanted:
                    shown = {name: "there" if is_found else "not there" for name, is_found in found.items()}
                    better = tuple(name for name, is_found in found.items() if is_found is is_wanted)
                    tally.misses.append(Miss(page.place, label, shown, better))
    return [wanted, unwanted]


def gold(asked: Asked) -> dict[str, dict[str, tuple[float, float]]]:
    """Per set with whole gold texts and contestant: mean precision and recall of the text's tokens."""
    scores: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for page, answers in asked:
        if page.gold_text:
            for name in (ASSAY, TRAFILATURA):
                if name in answers:
                    scores[page.set, name].append(overlap(page.gold_text, answers[name].text or ""))
    means: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for (group, name), pairs in scores.items():
        means[group][name] = (sum(p for p, _ in pairs) / len(pairs), sum(r for _, r in pairs) / len(pairs))
    return dict(means)


def flat(text: str) -> str:
    """A text without what contestants print each in their own way."""
    return "".join(unicodedata.normalize("NFKC", text.translate(_SHAPES)).casefold().split())
