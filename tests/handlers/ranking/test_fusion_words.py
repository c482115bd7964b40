"""BM25 over a few candidates: never negative, and equal to the formula."""

from math import log

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


def corpus(*texts: str, section: Bm25Section = SECTION) -> Corpus:
    return Corpus([candidate(text, place=place) for place, text in enumerate(texts)], section)


def test_scores_follow_the_bm25_formula() -> None:
    section = SECTION.model_copy(update={"k1": 1.2, "b": 0.75, "floor": 0.2, "others": 10})
    scores = corpus("rain rain sun", "sun", section=section).scores(["rain", "snow"])
    rain, snow = (log(1 + (2 + 10 - have + 0.5) / (have + 0.5)) for have in (1, 0))
    saturated = 2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 2))
    assert scores[0] == pytest.approx(rain / (rain + snow) * (0.2 + 0.8 * saturated))
    assert scores[1] == 0


def test_repetition_lowers_the_score_and_prose_keeps_it() -> None:
    prose = "The dam closed in May. Engineers inspected the dam, and visitors were turned away at the gate."
    stuffed = "dam closed, closed dam, dam closed today, cheap dam closed, dam closed now"
    kept = corpus(prose, stuffed, "dam closed", "").kept(["dam", "closed"])
    assert kept.tolist() == [1.0, pytest.approx(1 - SECTION.repetition_cost), 1.0, 1.0]
    assert corpus(stuffed).kept([]).tolist() == [1.0]


def test_repetition_counts_in_title_and_text_apart() -> None:
    shown = Corpus([candidate("The dam closed on Monday.", "Dam closed"), candidate("x y", "dam dam dam dam")], SECTION)
    assert shown.kept(["dam", "closed"])[0] == 1
    assert shown.kept(["dam", "closed"])[1] < 1


def test_a_word_of_the_title_counts_as_often_as_the_section_says() -> None:
    section = SECTION.model_copy(update={"title_weight": 3.0})
    in_title = Corpus([candidate("sun", "rain"), candidate("wind")], section)
    in_text = Corpus([candidate("sun rain rain rain"), candidate("wind")], section)
    assert in_title.scores(["rain"]) == pytest.approx(in_text.scores(["rain"]))


def test_shares_of_words_and_phrases() -> None:
    read = Corpus([candidate("the boats race", "Rain in May"), candidate("wind")], SECTION)
    assert read.overlap(["boat", "rain", "snow"]).tolist() == [pytest.approx(2 / 3), 0]
    assert read.overlap(["boat", "rain"], in_title=True).tolist() == [0.5, 0]
    assert read.phrases(["boats race", "rain in", "boat"]).tolist() == [pytest.approx(2 / 3), 0]
    # The title's last word and the text's first are adjacent in no text.
    assert read.phrases(["may the"]).tolist() == [0, 0]
    assert read.phrases([]).tolist() == [0, 0]


def test_phrases_of_chinese_need_no_spaces() -> None:
    assert corpus("昨天立法院三讀通過", "立法院").phrases(["立法院三讀"]).tolist() == [1, 0]


@pytest.mark.parametrize("texts", [(), ("",), ("", ""), ("rain",), ("rain", "rain")])
def test_few_and_empty_candidates(texts: tuple[str, ...]) -> None:
    read = corpus(*texts)
    scores = read.scores(["rain", "sun"])
    assert scores.shape == (len(texts),)
    assert (scores >= 0).all()
    assert all(score > 0 for score, text in zip(scores, texts, strict=True) if text)
    assert read.scores([]).tolist() == [0] * len(texts)
    assert read.likeness().shape == (len(texts), len(texts))


def test_likeness_is_high_for_copies_only() -> None:
    likeness = corpus("rain in the harbour town", "rain in the harbour town", "a boat race", "").likeness()
    assert likeness[0, 1] == pytest.approx(1.0)
    assert likeness[0, 2] == 0
    assert likeness[3].tolist() == [0, 0, 0, 1]


@settings(deadline=None)  # the first Chinese text loads the dictionary
@given(st.lists(st.text(alphabet="ab 台北雨", max_size=30), max_size=8), st.lists(st.sampled_from(["a", "b", "台北"])))
def test_figures_stay_in_their_bounds(texts: list[str], wanted: list[str]) -> None:
    read = corpus(*texts)
    likeness = read.likeness()
    assert np.isfinite(read.scores(wanted)).all()
    assert (read.scores(wanted) >= 0).all()
    assert ((likeness >= 0) & (likeness <= 1)).all()
    assert np.allclose(likeness, likeness.T)
    assert np.allclose(np.diag(likeness), 1)


@pytest.mark.parametrize("weight", [0.0, 0.1, 20.0])
def test_any_weight_of_the_title_gives_figures(weight: float) -> None:
    section = SECTION.model_copy(update={"title_weight": weight})
    read = Corpus([candidate("sun", "rain"), candidate("", "rain"), candidate("rain")], section)
    assert np.isfinite(read.scores(["rain"])).all()
    assert ((read.likeness() >= 0) & (read.likeness() <= 1)).all()
