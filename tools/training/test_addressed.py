"""The texts that weights are fitted on, and those that they are measured on."""

from collections import Counter

from handlers.html.addressed import folded, words_of
from tests.samples import ROOT
from tools import labelled


def test_the_suite_and_the_training_share_no_text() -> None:
    """Else the accuracy of the suite is that of texts that the weights were fitted on."""
    written, suite = (
        [_phrases(row["text"]) for row in labelled.rows(ROOT / "tools" / path)]
        for path in ("training/addressed.jsonl", "accuracy/written/injections.jsonl")
    )
    assert written
    assert suite
    owners = {phrase: number for number, its in enumerate(suite) for phrase in its}
    for its in written:
        shared = Counter(owners[phrase] for phrase in its & owners.keys())
        assert all(number < 0.6 * min(len(its), len(suite[at])) for at, number in shared.items()), its


def _phrases(text: str) -> set[tuple[str, ...]]:
    words = words_of(folded(text))
    return {tuple(words[place : place + 4]) for place in range(max(1, len(words) - 3))}
