"""Texts are cut into sentences."""

import pytest

from handlers.text.sentences import sentence_ends, sentences


@pytest.mark.parametrize(
    "text",
    [
        "H.C. Andersen died in 1875.",
        "Version 2.5 is out!",
        "See example.com for more.",
        "Die Wahl findet am 4. Mai statt.",
        "Obst, z.B. Äpfel, ist gesund.",
        "今天天氣很好，我們去公園！",
        "「真的嗎？」",
    ],
)
def test_one_sentence_stays_whole(text: str) -> None:
    assert list(sentences(text)) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. We stay.", ["It rains.", "We stay."]),
        ("“It rains.” We stay", ["“It rains.”", "We stay"]),
        ("Really?! Yes…\nNo", ["Really?!", "Yes…", "No"]),
        ("下雨。我們留下；他走了", ["下雨。", "我們留下；", "他走了"]),
        ("Heading\n\nText.", ["Heading", "Text."]),
        ("", []),
    ],
)
def test_sentences_are_cut_behind_their_marks(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_what_is_left_behind_the_last_mark_has_no_end() -> None:
    assert list(sentence_ends("One. Two")) == [4]
    assert list(sentence_ends("One")) == []
