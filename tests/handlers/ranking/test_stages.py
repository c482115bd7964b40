"""The first stage: how many candidates it keeps, and which."""

from dataclasses import replace

import numpy as np
import pytest

from handlers.rank_results import RankResultsRules
from handlers.ranking.candidates import Candidate
from handlers.ranking.fusion import Corpus
from handlers.ranking.model import Feature
from handlers.ranking.stages import after_diversity, after_trees, after_trust, nothing_relevant, weigh
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
def test_words_keep_candidates_that_vectors_would_cut(limit: int, kept: int) -> None:
    weighed = weigh("copper mine Falun", candidates(120), None, SECTION, frozenset(), limit)
    assert len(weighed.candidates) == len(weighed.fused) == len(weighed.standing.scores) == kept
    assert weighed.likeness.shape == (kept, kept)
    assert weighed.candidates[weighed.standing.order[0]].url == "https://a.example/119"
    places = [int(candidate.url.rpartition("/")[2]) for candidate in weighed.candidates]
    assert places == sorted(places)


def test_nearest_candidates_are_kept_without_words() -> None:
    off = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"enabled": False})})
    weighed = weigh("copper mine Falun", candidates(120), None, off, frozenset())
    assert [candidate.url for candidate in weighed.candidates] == [f"https://a.example/{place}" for place in range(50)]


def test_positions_count_among_the_kept_candidates() -> None:
    weighed = weigh("copper mine Falun", candidates(120), None, SECTION, frozenset())
    assert [candidate.position for candidate in weighed.candidates] == list(range(50))
    rows = after_trees(weighed, weighed.standing, SECTION.trees, None).features
    assert rows is not None
    assert sorted(rows[:, Feature.RETRIEVAL_POSITION]) == list(range(50))
    assert sum(rows[:, Feature.POSITION_CHANGE]) == 0.0
    assert rows[weighed.standing.order[0], Feature.POSITION_CHANGE] == 49.0


def test_what_a_filter_took_away_counts_for_nothing() -> None:
    """Places count among those that are left."""
    left = tuple(replace(each, similarity=None) for each in candidates(120)[60:])
    anew = tuple(replace(each, position=place) for place, each in enumerate(left))
    read = weigh("tide", left, None, SECTION, frozenset())
    assert read.fused == weigh("tide", anew, None, SECTION, frozenset()).fused
    assert weigh("tide", left[:1], None, SECTION, frozenset()).candidates[0].position == 0


@pytest.mark.parametrize(("similarity", "asked"), [(0.7, "a title"), (0.0, "EXPLORATORY")])
def test_copied_title_does_not_make_the_query_a_title(similarity: float, asked: str) -> None:
    """A page with the query as its title affects diversity only in the first place."""
    untold = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"exact_title_boost": 0.0})})
    given = list(candidates(12))
    given[0] = replace(given[0], title="Harbour tide wind notes", text=given[0].text * 3)
    given[5] = replace(given[5], title="Harbour tide", similarity=similarity, text="Nothing else.")
    if similarity > 0.6:
        given = [given[5]]
    weighed = weigh("harbour tide", tuple(given), None, untold, frozenset())
    assert any(each.exact_title for each in weighed.fused)
    after = after_diversity(weighed, weighed.standing, untold, 10)
    assert after.notes[-1].reason.endswith(f"the query is {asked}")


def test_some_are_as_like_each_other_as_if_there_were_no_others() -> None:
    everything = candidates(40)
    some = [3, 7, 39]
    of_some = Corpus(everything, SECTION.bm25).likeness(some)
    alone = Corpus([everything[place] for place in some], SECTION.bm25).likeness()
    assert np.array_equal(of_some, alone)


def page(place: int, title: str, text: str, cts_score: int | None = None) -> Candidate:
    url = f"https://p.example/{place}"
    return Candidate(url=url, title=title, text=text, passage=text, position=place, cts_score=cts_score)


def trusted(query: str, *pages: Candidate, weight: float = SECTION.trust.weight) -> list[str]:
    """Titles in the order after trust."""
    weighed = weigh(query, pages, None, SECTION, frozenset())
    section = SECTION.trust.model_copy(update={"weight": weight})
    after = after_trust(weighed, weighed.standing, section)
    assert after.relevance == weighed.standing.relevance
    return [pages[place].title for place in after.order]


@pytest.mark.parametrize(("first", "second"), [(95, 10), (10, 95), (95, None), (None, 10)])
def test_trust_decides_between_equals(first: int | None, second: int | None) -> None:
    pages = page(0, "Dam closed today", "For repairs.", first), page(1, "Dam closed now", "For dredging.", second)
    more_trusted = pages[0] if (first or 40) > (second or 40) else pages[1]
    assert trusted("dam closed", *pages)[0] == more_trusted.title
    assert trusted("dam closed", *pages, weight=0.0)[0] == "Dam closed today"


def test_without_a_known_score_trust_changes_nothing() -> None:
    weighed = weigh("dam closed", (page(0, "Dam closed", ""), page(1, "Rain", "")), None, SECTION, frozenset())
    assert after_trust(weighed, weighed.standing, SECTION.trust) is weighed.standing


COPIED = "The dam closed in May for dredging, and the work takes three months, said the office on Monday."


def test_copies_rank_after_other_content_and_irrelevant_last() -> None:
    pages = (
        page(0, "Dam closed", COPIED),
        page(1, "Dam closed", COPIED),
        page(2, "Soup", "A recipe for leek soup."),
        page(3, "Water supply", "While the dam is closed, another reservoir supplies the city."),
    )
    weighed = weigh("when will the dam be closed", pages, None, SECTION, frozenset({"when", "will", "the", "be"}))
    after = after_diversity(weighed, weighed.standing, SECTION, 10)
    assert after.order == (0, 3, 1, 2)
    assert after_diversity(weighed, weighed.standing, SECTION, 2).order == (0, 3)
    assert after.stage_scores["mmr"][2] is None
    assert all(score is None or score >= 0 for score in after.stage_scores["mmr"])


def test_nothing_relevant_needs_scores_from_words_or_a_judge() -> None:
    soup = (page(0, "Soup", "A recipe for leek soup."),)
    assert nothing_relevant(weigh("dam closed", soup, None, SECTION, frozenset()).standing, SECTION)
    assert not nothing_relevant(weigh("leek soup", soup, None, SECTION, frozenset()).standing, SECTION)
    assert nothing_relevant(weigh("leek soup", (), None, SECTION, frozenset()).standing, SECTION)
    off = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"enabled": False})})
    assert not nothing_relevant(weigh("dam closed", soup, None, off, frozenset()).standing, off)
