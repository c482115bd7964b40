"""The first stage: how many go on from it, and who."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from handlers.rank_results import RankResultsRules
from handlers.ranking.bm25 import Corpus
from handlers.ranking.candidate import Candidate
from handlers.ranking.manifest import Feature
from handlers.ranking.stages import after_diversity, after_trees, weigh
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
    assert weighed.candidates[weighed.standing.order[0]].url == "https://a.example/119"
    places = [int(candidate.url.rpartition("/")[2]) for candidate in weighed.candidates]
    assert places == sorted(places)


def test_without_words_the_nearest_go_on() -> None:
    off = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"enabled": False})})
    weighed = weigh("copper mine Falun", candidates(120), None, off, frozenset())
    assert [candidate.url for candidate in weighed.candidates] == [f"https://a.example/{place}" for place in range(50)]


def test_places_count_among_those_that_go_on() -> None:
    weighed = weigh("copper mine Falun", candidates(120), None, SECTION, frozenset())
    assert [candidate.position for candidate in weighed.candidates] == list(range(50))
    rows = after_trees(weighed, weighed.standing, SECTION.trees, None).features
    assert rows is not None
    assert sorted(rows[:, Feature.RETRIEVAL_POSITION]) == list(range(50))
    assert sum(rows[:, Feature.POSITION_CHANGE]) == 0.0
    assert rows[weighed.standing.order[0], Feature.POSITION_CHANGE] == 49.0


def test_what_a_filter_took_away_counts_for_nothing() -> None:
    """Without scores of a retriever its order counts: the order of those that are left."""
    left = tuple(replace(each, similarity=None) for each in candidates(120)[60:])
    anew = tuple(replace(each, position=place) for place, each in enumerate(left))
    read = weigh("tide", left, None, SECTION, frozenset())
    assert read.fused == weigh("tide", anew, None, SECTION, frozenset()).fused
    assert weigh("tide", left[:1], None, SECTION, frozenset()).candidates[0].position == 0


@pytest.mark.parametrize(("similarity", "asked"), [(0.7, "a title"), (0.0, "EXPLORATORY")])
def test_a_copied_title_alone_does_not_name_what_is_asked_for(similarity: float, asked: str) -> None:
    """Who bears the query as a title decides on diversity only from the first place."""
    untold = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"exact_title_boost": 0.0})})
    given = list(candidates(12))
    given[0] = replace(given[0], title="Harbour tide wind notes", text=given[0].text * 3)
    given[5] = replace(given[5], title="Harbour tide", similarity=similarity, text="Nothing else.")
    if similarity > 0.6:
        given = [given[5]]
    weighed = weigh("harbour tide", tuple(given), None, untold, frozenset())
    assert any(each.exact_title for each in weighed.fused)
    after = after_diversity(weighed, weighed.standing, untold, 10)
    assert after.notes[-1].because.endswith(f"the query is {asked}")


def test_some_are_as_like_each_other_as_if_there_were_no_others() -> None:
    everything = candidates(40)
    some = [3, 7, 39]
    of_some = Corpus(everything, SECTION.bm25).likeness(some)
    alone = Corpus([everything[place] for place in some], SECTION.bm25).likeness()
    assert np.array_equal(of_some, alone)
