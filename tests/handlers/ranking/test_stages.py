"""The first stage: how many go on from it, and who."""

from __future__ import annotations

import numpy as np
import pytest

from handlers.rank_results import RankResultsRules
from handlers.ranking.bm25 import Corpus
from handlers.ranking.candidate import Candidate
from handlers.ranking.stages import weigh
from tests.rules import shipped_rules

SECTION = shipped_rules(RankResultsRules).ranking


def candidates(number: int) -> tuple[Candidate, ...]:
    """Less and less like the query by their vectors; the last one alone has its words."""
    texts = [f"Notes of day {place} on harbour, tide and wind." for place in range(number - 1)]
    return tuple(
        Candidate(
            url=f"https://a.example/{place}",
            title="" if place < number - 1 else "The copper mine of Falun",
            text=text,
            passage=text,
            similarity=0.6 - place / 1000,
            position=place,
        )
        for place, text in enumerate([*texts, "Copper was mined at Falun for a thousand years."])
    )


@pytest.mark.parametrize(("limit", "kept"), [(0, 50), (10, 50), (80, 80), (100, 100)])
def test_words_bring_up_what_vectors_alone_would_have_cut(limit: int, kept: int) -> None:
    weighed = weigh("copper mine Falun", candidates(120), None, SECTION, frozenset(), limit)
    assert len(weighed.candidates) == len(weighed.fused) == len(weighed.standing.scores) == kept
    assert weighed.likeness.shape == (kept, kept)
    assert weighed.candidates[weighed.standing.order[0]].position == 119
    positions = [candidate.position for candidate in weighed.candidates]
    assert positions == sorted(positions)


def test_without_words_the_nearest_go_on() -> None:
    off = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"enabled": False})})
    weighed = weigh("copper mine Falun", candidates(120), None, off, frozenset())
    assert [candidate.position for candidate in weighed.candidates] == list(range(50))


def test_some_are_as_like_each_other_as_if_there_were_no_others() -> None:
    everything = candidates(40)
    some = [3, 7, 39]
    of_some = Corpus(everything, SECTION.bm25).likeness(some)
    alone = Corpus([everything[place] for place in some], SECTION.bm25).likeness()
    assert np.array_equal(of_some, alone)
