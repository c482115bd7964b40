"""The first stage: how many candidates it keeps, and which."""

from dataclasses import replace

import numpy as np
import pytest

from handlers.rank_results import RankResultsRules
from handlers.ranking.candidates import Candidate
from handlers.ranking.config import RankingSection
from handlers.ranking.fusion import Corpus
from handlers.ranking.stages import Weighed, after_diversity, after_trust, copied, is_relevant, weigh
from tests.rules import shipped_rules
from tests.tables import tables

TABLES = tables(__file__)

RULES = shipped_rules(RankResultsRules)
SECTION = RULES.ranking


def weighed_by(
    query: str, candidates: tuple[Candidate, ...], under: RankingSection = SECTION, limit: int = 0
) -> Weighed:
    return weigh(RULES.read(query), candidates, None, under, limit)


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
    weighed = weighed_by("copper mine Falun", candidates(120), SECTION, limit)
    assert len(weighed.candidates) == len(weighed.fused) == len(weighed.standing.scores) == kept
    assert weighed.likeness.shape == (kept, kept)
    assert weighed.candidates[weighed.standing.order[0]].url == "https://a.example/119"
    places = [int(candidate.url.rpartition("/")[2]) for candidate in weighed.candidates]
    assert places == sorted(places)


def test_what_a_filter_took_away_counts_for_nothing() -> None:
    """Places count among those that are left."""
    left = tuple(replace(each, similarity=None) for each in candidates(120)[60:])
    anew = tuple(replace(each, position=place) for place, each in enumerate(left))
    read = weighed_by("tide", left)
    assert read.fused == weighed_by("tide", anew).fused
    assert weighed_by("tide", left[:1]).candidates[0].position == 0


@pytest.mark.parametrize(("similarity", "asked"), [(0.7, "a title"), (0.0, "EXPLORATORY")])
def test_copied_title_does_not_make_the_query_a_title(similarity: float, asked: str) -> None:
    """A page with the query as its title affects diversity only in the first place."""
    untold = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"exact_title_boost": 0.0})})
    given = list(candidates(12))
    given[0] = replace(given[0], title="Harbour tide wind notes", text=given[0].text * 3)
    given[5] = replace(given[5], title="Harbour tide", similarity=similarity, text="Nothing else.")
    if similarity > 0.6:
        given = [given[5]]
    weighed = weighed_by("harbour tide", tuple(given), untold)
    assert any(each.exact_title for each in weighed.fused)
    after = after_diversity(weighed, weighed.standing, untold, 10)
    assert after.notes[-1].reason.endswith(f"the query is {asked}")


def test_some_are_as_like_each_other_as_if_there_were_no_others() -> None:
    everything = candidates(40)
    some = [3, 7, 39]
    of_some = Corpus(everything, SECTION.bm25, {}).likeness(some)
    alone = Corpus([everything[place] for place in some], SECTION.bm25, {}).likeness()
    assert np.array_equal(of_some, alone)


def page(place: int, title: str, text: str, cts_score: int | None = None) -> Candidate:
    url = f"https://p.example/{place}"
    return Candidate(url=url, title=title, text=text, passage=text, position=place, cts_score=cts_score)


def trusted(query: str, *pages: Candidate, weight: float = SECTION.trust.weight) -> list[str]:
    """Titles in the order after trust."""
    weighed = weighed_by(query, pages)
    section = SECTION.trust.model_copy(update={"weight": weight})
    after = after_trust(weighed, weighed.standing, section, SECTION.least_relevance)
    assert after.relevance == weighed.standing.relevance
    return [pages[place].title for place in after.order]


@pytest.mark.parametrize(("first", "second"), [(95, 10), (10, 95), (95, None), (None, 10)])
def test_trust_decides_between_equals(first: int | None, second: int | None) -> None:
    pages = page(0, "Dam closed today", "For repairs.", first), page(1, "Dam closed now", "For dredging.", second)
    more_trusted = pages[0] if (first or 40) > (second or 40) else pages[1]
    assert trusted("dam closed", *pages)[0] == more_trusted.title
    assert trusted("dam closed", *pages, weight=0.0)[0] == "Dam closed today"


COPIED = "The dam closed in May for dredging, and the work takes three months, said the office on Monday."


def test_copies_rank_after_other_content_and_irrelevant_last() -> None:
    pages = (
        page(0, "Dam closed", COPIED),
        page(1, "Dam closed", COPIED),
        page(2, "Soup", "A recipe for leek soup."),
        page(3, "Water supply", "While the dam is closed, another reservoir supplies the city."),
    )
    weighed = weighed_by("when will the dam be closed", pages)
    after = after_diversity(weighed, weighed.standing, SECTION, 10)
    assert after.order == (0, 3, 1, 2)
    assert after_diversity(weighed, weighed.standing, SECTION, 2).order == (0, 3)
    assert after.stage_scores["mmr"][2] is None
    assert [copied(weighed, after, place, SECTION) for place in range(4)] == [None, 0, None, None]
    assert all(score is None or score >= 0 for score in after.stage_scores["mmr"])


def test_relevance_needs_scores_from_words_or_a_judge() -> None:
    soup = (page(0, "Soup", "A recipe for leek soup."),)
    off = SECTION.model_copy(update={"bm25": SECTION.bm25.model_copy(update={"enabled": False})})
    for query, under, relevant in (("dam closed", SECTION, False), ("leek soup", SECTION, True), ("dam", off, True)):
        assert is_relevant(weighed_by(query, soup, under).standing, 0, under) is relevant


QUERY = "how to close a dam"
SHORT = "The gates of the dam were closed in May."
LONG = f"{COPIED} Visitors were turned away at the gate, and the road on the crest stays open."


@pytest.mark.parametrize("text", [SHORT, LONG, "A recipe for leek soup."])
@pytest.mark.parametrize("added", ["dam close", "close dam dam close", f"{QUERY}?", f"{QUERY} {QUERY}"])
def test_words_of_the_query_repeated_raise_no_rank(text: str, added: str) -> None:
    pages = page(0, "Water", "The dam holds water for the city."), page(1, "News", text), page(2, "Dam closed", LONG)
    repeated = tuple(replace(each, text=f"{each.text} {added}" if each.position == 1 else each.text) for each in pages)
    before, after = (weighed_by(QUERY, some).standing for some in (pages, repeated))
    assert after.scores[1] <= before.scores[1]
    assert after.order.index(1) >= before.order.index(1)


@pytest.mark.parametrize("added", ["close dam", f"and {QUERY}, {QUERY}", f"- {QUERY}?"])
@pytest.mark.parametrize("text", [SHORT, LONG.rstrip(".")])
def test_a_copy_with_the_query_added_does_not_outrank(text: str, added: str) -> None:
    pages = page(0, "News", f"{text} {added}"), page(1, "News", text), page(2, "Soup", "A recipe for leek soup.")
    weighed = weighed_by(QUERY, pages)
    after = after_diversity(weighed, weighed.standing, SECTION, 10)
    assert after.order.index(1) < after.order.index(0)


@pytest.mark.parametrize(("query", "spam"), TABLES["text_of_nothing_but_the_query_is_not_relevant"])
def test_text_of_nothing_but_the_query_is_not_relevant(query: str, spam: str) -> None:
    weighed = weighed_by(query, (page(0, query.title(), spam, 95),))
    assert not is_relevant(weighed.standing, 0, SECTION)


def test_trust_moves_no_irrelevant_result_above_a_relevant_one() -> None:
    weighed = weighed_by("dam closed", (page(0, "", "A note. The dam.", 100), page(1, "Dam", "It is closed.", 0)))
    just_above = replace(weighed.standing, relevance=(0.249, 0.251))
    after = after_trust(weighed, just_above, SECTION.trust.model_copy(update={"weight": 1.0}), 0.25)
    assert after.order == (1, 0)
