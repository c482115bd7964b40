"""The words of a query in a few candidates: BM25 by its formula, place, neighbours and repetition."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.ranking.candidates import Candidate
from handlers.ranking.config import Bm25Section
from handlers.ranking.fusion import Corpus
from tests.rules import RankingRules, shipped_rules

SECTION = shipped_rules(RankingRules).ranking.bm25


def candidate(text: str, title: str = "", place: int = 0) -> Candidate:
    return Candidate(url=f"https://a.example/{place}", title=title, text=text, passage=text, position=place)


def corpus(words: Sequence[str], *texts: str, section: Bm25Section = SECTION) -> Corpus:
    return Corpus(
        [candidate(text, place=place) for place, text in enumerate(texts)], section, dict.fromkeys(words, 1.0)
    )


def test_scores_follow_the_bm25_formula() -> None:
    section = SECTION.model_copy(update={"k1": 1.2, "b": 0.75, "floor": 0.2, "usual_length": 5.0, "title_weight": 2.0})
    read = Corpus([candidate("Rain and sun. More rain.", "rain"), candidate("x")], section, {"rain": 2.0, "snow": 6.0})
    saturated = 4 / (4 + 1.2 * (1 - 0.75 + 0.75 * 7 / 5))
    assert read.bm25.tolist() == [pytest.approx(2 / 8 * (0.2 + 0.8 * saturated)), 0]


def test_a_word_counts_once_in_a_sentence_and_not_in_an_echo() -> None:
    read = corpus(
        ["rain", "sun"], "Rain, rain and sun. Fog.", "Rain and sun. Fog.", "Rain and sun. Fog. Rain sun rain."
    )
    assert read.bm25[2] < read.bm25[0] < read.bm25[1]


def test_words_in_title_or_at_the_beginning_are_early() -> None:
    texts = candidate("wind and fog", "rain"), candidate("rain and fog"), candidate("wind and fog and rain")
    early = Corpus(texts, SECTION, {"rain": 1.0, "snow": 1.0}).early
    assert early[0] == early[1] == 0.5 > early[2] > 0


def test_neighbours_of_the_query_are_found_beside_each_other() -> None:
    read = corpus(["boat", "race", "mill"], "The boats race.", "A race of boats.", "Race to the mill")
    assert read.together.tolist() == [0.5, 0, 0.0]
    assert read.overlap.tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3])


def test_shares_of_phrases() -> None:
    read = Corpus([candidate("the boats race", "Rain in May"), candidate("wind")], SECTION, {})
    assert read.phrases(["boats race", "rain in", "boat"]).tolist() == [pytest.approx(2 / 3), 0]
    # The title's last word and the text's first are adjacent in no text.
    assert read.phrases(["may the"]).tolist() == [0, 0]
    assert read.phrases([]).tolist() == [0, 0]
    chinese = Corpus([candidate("昨天立法院三讀通過", "立法院")], SECTION, {})
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
