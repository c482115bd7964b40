"""Fusion: words by BM25, place, neighbours and repetition, and vectors; every part of a score is reported."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.ranking.fusion import Corpus, Fused, age_in_days, fuse
from handlers.ranking.query import read_query
from tests.rules import RankingRules, shipped_rules
from tests.tables import tables

TABLES = tables(__file__)


RANKING = shipped_rules(RankingRules).ranking
SECTION = RANKING.bm25
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


def candidate(place: int, title: str = "", text: str = "", **fields: Any) -> Candidate:
    return Candidate(url=f"https://a.example/{place}", title=title, text=text, passage=text, position=place, **fields)


def fused(
    query: str, candidates: Sequence[Candidate], section: Bm25Section = SECTION, now: datetime | None = NOW
) -> tuple[Fused, ...]:
    read = read_query(query, RANKING.intent)
    return fuse(candidates, Corpus(candidates, section, read.weights), read, now, section)


def best(scored: Sequence[Fused]) -> int:
    return max(range(len(scored)), key=lambda place: scored[place].score)


def test_vectors_decide_if_bm25_is_off() -> None:
    found = [candidate(0, "Tide", similarity=0.2), candidate(1, similarity=0.4), candidate(2, similarity=0.3)]
    scored = fused("tide today", found, SECTION.model_copy(update={"enabled": False}))
    assert [round(each.score, 3) for each in scored] == [0.0, 1.0, 0.5]
    assert all(each.bm25 == each.keyword_boost == each.temporal_boost == 0 for each in scored)


def test_a_score_is_made_of_its_parts() -> None:
    found = [
        candidate(0, "Tide tables", "tide", similarity=0.5, date=NOW.isoformat()),
        candidate(1, "Rain", similarity=0.1),
    ]
    first, second = fused("latest tide tables", found)
    assert first.vector == 0.5
    assert first.temporal_boost == pytest.approx(SECTION.temporal_boost)
    base = SECTION.weight * first.bm25 + (1 - SECTION.weight) * first.bm25
    left = (1 - base) * (1 - first.keyword_boost) * (1 - first.temporal_boost * base)
    assert first.score == pytest.approx(1 - left)
    assert second.score == 0
    assert second.bm25 == second.keyword_overlap == 0


def test_why_is_said_in_words() -> None:
    found = [
        candidate(0, "Tide tables | The Coast", "x", similarity=0.1, date="2026-03-09"),
        candidate(1, "Coast", 'So "high tide tables" it says', similarity=0.9),
    ]
    assert fused("tide tables", found)[0].because == TABLES["why_is_said_in_words"]
    assert fused("news of tides", found)[0].because == ("1 of 3 words in the text", "recent")
    assert fused('"high tide"', found)[1].because == TABLES["why_is_said_in_words_2"]
    unscored = [replace(each, similarity=None) for each in found]
    assert not any("retriever" in reason for each in fused("tide tables", unscored) for reason in each.because)
    stuffed = [candidate(0, "Tide", "tide tables tide tables tide tables tide tables")]
    assert fused("tide tables", stuffed)[0].because[-1] == "repeats words of the query, which counts against it"


def test_what_is_years_old_or_dated_ahead_is_not_called_recent() -> None:
    dates = ("2026-03-09", "2010-01-01", "2099-01-01", None)
    found = [candidate(place, "Tide", "tide", date=date) for place, date in enumerate(dates)]
    new, old, ahead, undated = fused("latest news of the tide", found)
    assert "recent" in new.because
    assert not any("recent" in each.because for each in (old, ahead, undated))
    assert (ahead.temporal_boost, undated.temporal_boost) == (0, 0)


def test_a_quoted_phrase_beats_its_scattered_words() -> None:
    found = [
        candidate(0, text="Water was high, and the tide at the high bridge was low water."),
        candidate(1, text="The low bridge stood at high tide, said they of the water board."),
    ]
    assert best(fused('bridge "high tide"', found)) == 1


@pytest.mark.parametrize(("title", "query", "exact"), TABLES["titles_are_the_query_but_for_the_site"])
def test_titles_are_the_query_but_for_the_site(title: str, query: str, exact: bool) -> None:
    assert fused(query, [candidate(0, title)])[0].exact_title is exact


def test_what_is_new_is_put_up_only_where_news_are_wanted() -> None:
    found = [candidate(place, text="tide", date=(NOW - timedelta(days=place * 7)).isoformat()) for place in range(3)]
    wanted = fused("latest tide", found)
    assert wanted[0].temporal_boost > wanted[1].temporal_boost > wanted[2].temporal_boost > 0
    assert wanted[1].temporal_boost == pytest.approx(SECTION.temporal_boost * 0.5 ** (7 / SECTION.half_life_days))
    assert not any(each.temporal_boost for each in fused("tide", found))
    assert not any(each.temporal_boost for each in fused("latest tide", found, now=None))


@pytest.mark.parametrize(("date", "age"), TABLES["ages_are_days"])
def test_ages_are_days(date: str | None, age: float | None) -> None:
    assert age_in_days(date, NOW) == (age if age is None else pytest.approx(age))


@pytest.mark.parametrize(
    "scores", [[1e308, -1e308, 0.0], [math.nan, 0.2, 0.1], [math.inf, 1.0, 0.5], [-3.0, -2.0, -9.0]]
)
def test_foreign_scores_of_any_scale_are_taken(scores: list[float]) -> None:
    scored = fused("tide", [candidate(place, similarity=score) for place, score in enumerate(scores)])
    assert all(0 <= each.score <= 1 for each in scored)
    known = [score if math.isfinite(score) else -math.inf for score in scores]
    assert best(scored) == known.index(max(known))


def test_retriever_order_decides_where_no_query_word_matches() -> None:
    found = [candidate(0, "Soup", similarity=0.2), candidate(1, "Rain", similarity=0.9)]
    scored = fused("tide", found)
    assert best(scored) == 1
    assert scored[1].score < 0.01


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.text(max_size=40), st.text(max_size=80), st.none() | st.floats(-1, 1)), max_size=6),
)
def test_any_query_and_any_candidates(query: str, pages: list[tuple[str, str, float | None]]) -> None:
    found = [candidate(place, title, text, similarity=score) for place, (title, text, score) in enumerate(pages)]
    most = 1 + SECTION.early_boost + SECTION.phrase_boost + SECTION.exact_title_boost + SECTION.temporal_boost
    for each in fused(query, found):
        assert 0 <= each.score <= most + 1e-9
        assert 0 <= each.keyword_overlap <= 1


def corpus(words: Sequence[str], *texts: str, section: Bm25Section = SECTION) -> Corpus:
    return Corpus([candidate(place, text=text) for place, text in enumerate(texts)], section, dict.fromkeys(words, 1.0))


def test_scores_follow_the_bm25_formula() -> None:
    section = SECTION.model_copy(update={"k1": 1.2, "b": 0.75, "floor": 0.2, "usual_length": 5.0, "title_weight": 2.0})
    read = Corpus(
        [candidate(0, "rain", "Rain and sun. More rain."), candidate(0, text="x")], section, {"rain": 2.0, "snow": 6.0}
    )
    saturated = 4 / (4 + 1.2 * (1 - 0.75 + 0.75 * 7 / 5))
    assert read.bm25.tolist() == [pytest.approx(2 / 8 * (0.2 + 0.8 * saturated)), 0]


def test_a_word_counts_once_in_a_sentence_and_not_in_an_echo() -> None:
    read = corpus(
        ["rain", "sun"], "Rain, rain and sun. Fog.", "Rain and sun. Fog.", "Rain and sun. Fog. Rain sun rain."
    )
    assert read.bm25[2] < read.bm25[0] < read.bm25[1]


def test_words_in_title_or_at_the_beginning_are_early() -> None:
    texts = (
        candidate(0, "rain", "wind and fog"),
        candidate(0, text="rain and fog"),
        candidate(0, text="wind and fog and rain"),
    )
    early = Corpus(texts, SECTION, {"rain": 1.0, "snow": 1.0}).early
    assert early[0] == early[1] == 0.5 > early[2] > 0


def test_neighbours_of_the_query_are_found_beside_each_other() -> None:
    read = corpus(["boat", "race", "mill"], "The boats race.", "A race of boats.", "Race to the mill")
    assert read.together.tolist() == [0.5, 0, 0.0]
    assert read.overlap.tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])


def test_shares_of_phrases() -> None:
    read = Corpus([candidate(0, "Rain in May", "the boats race"), candidate(0, text="wind")], SECTION, {})
    assert read.phrases(["boats race", "rain in", "boat"]).tolist() == [pytest.approx(2 / 3), 0]
    # The title's last word and the text's first are adjacent in no text.
    assert read.phrases(["may the"]).tolist() == [0, 0]
    assert read.phrases([]).tolist() == [0, 0]
    chinese = Corpus([candidate(0, "立法院", "昨天立法院三讀通過")], SECTION, {})
    assert chinese.phrases(["立法院三讀"]).tolist() == [1]


def test_repetition_lowers_the_score_and_prose_keeps_it() -> None:
    prose = "The dam closed in May. Engineers inspected the dam, and visitors were turned away at the gate."
    stuffed = "dam closed, closed dam, dam closed today, cheap dam closed, dam closed now"
    assert corpus(["dam", "closed"], prose, stuffed, "dam closed", "").kept.tolist() == [1, 0, 1, 1]
    assert corpus([], stuffed).kept.tolist() == [1.0]


def test_likeness_is_high_for_copies_only() -> None:
    likeness = corpus([], "rain in the harbour town", "rain in the harbour town", "a boat race", "").likeness()
    assert likeness[0, 1] == pytest.approx(1.0)
    assert likeness[0, 2] == 0
    assert likeness[3].tolist() == [0, 0, 0, 1]


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(st.lists(st.text(alphabet="ab 台北雨", max_size=30), max_size=8), st.lists(st.sampled_from(["a", "b", "台北"])))
def test_figures_stay_in_their_bounds(texts: list[str], wanted: list[str]) -> None:
    read = corpus(wanted, *texts)
    likeness = read.likeness()
    for figures in (read.bm25, read.early, read.together, read.overlap, read.kept):
        assert ((figures >= 0) & (figures <= 1 + 1e-9)).all()
    assert ((likeness >= 0) & (likeness <= 1)).all()
    assert np.allclose(likeness, likeness.T)
    assert np.allclose(np.diag(likeness), 1)
