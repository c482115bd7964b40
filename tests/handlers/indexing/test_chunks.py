"""Chunks: never too large, nothing lost, cut where a reader would cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handlers.indexing.chunks import ChunkUnit, chunk_text
from handlers.text.sentences import count_words
from schemas.pages import ContentBlock
from tests.cpu import cpu_seconds

TEXTS = st.text(st.sampled_from('ab é\u0301.!?。！，,；: \n\t「」”"中文字\U0001f600'), max_size=400) | st.text(
    max_size=200
)


@given(TEXTS, st.integers(1, 60))
def test_no_chunk_is_too_large_and_nothing_is_lost(text: str, size: int) -> None:
    chunks = chunk_text(text, size)
    assert all(0 < len(chunk) <= size for chunk in chunks)
    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(chunk == chunk.strip() for chunk in chunks)


@given(TEXTS, st.integers(1, 30))
@example('::::::「:中 :。"', 2)  # marks of one script beside a letter of another
def test_sizes_can_count_words(text: str, size: int) -> None:
    chunks = chunk_text(text, size, "words")
    assert all(0 < count_words(chunk) <= size or not count_words(chunk) for chunk in chunks)
    assert all(len(chunk) <= 32 * size for chunk in chunks)
    assert "".join("".join(chunks).split()) == "".join(text.split())


def test_paragraphs_share_a_chunk_while_they_fit() -> None:
    assert chunk_text("One one.\nTwo two.\nThree three three.", 18) == ("One one.\nTwo two.", "Three three three.")


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = "The river rose in the night. By noon it had reached the mill. Nobody was hurt."
    assert chunk_text(text, 62) == ("The river rose in the night. By noon it had reached the mill.", "Nobody was hurt.")


def test_chinese_sentences_keep_their_closing_marks() -> None:
    text = "他說：「河水在夜裡上漲。」隔天中午，水已到磨坊。沒有人受傷！"
    assert chunk_text(text, 15) == ("他說：「河水在夜裡上漲。」", "隔天中午，水已到磨坊。", "沒有人受傷！")


def test_a_long_sentence_is_cut_at_a_clause_then_at_a_word() -> None:
    text = "the bridge, which was old and narrow, had to be closed to everything heavier than a bicycle"
    assert chunk_text(text, 40) == (
        "the bridge, which was old and narrow,",
        "had to be closed to everything heavier",
        "than a bicycle",
    )


@pytest.mark.parametrize("unit", ["characters", "words"])
def test_accents_without_end_are_cut_in_time(unit: ChunkUnit) -> None:
    # Each is looked at a few times at most, and not once for every place in its chunk: 40 s for a page of them.
    few, many = "\u0301" * 20_000, "\u0301" * 100_000
    chunks = chunk_text(many, 512, unit)
    assert cpu_seconds(lambda: chunk_text(many, 512, unit)) < 20 * cpu_seconds(lambda: chunk_text(few, 512, unit)) + 0.1
    assert "".join(chunks) == "\u0301" * 100_000


def test_characters_without_a_mark_fill_chunks_in_a_few_steps() -> None:
    chunks = chunk_text("雨" * 10_000, 500)
    assert "".join(chunks) == "雨" * 10_000
    assert all(len(chunk) > 500 - 500 // 32 for chunk in chunks[:-2])


def test_a_heading_goes_with_what_follows() -> None:
    text = "It rained all day and all night.\nThe next morning\nThe sun came out and stayed."
    assert chunk_text(text, 55) == (
        "It rained all day and all night.",
        "The next morning\nThe sun came out and stayed.",
    )


def test_a_very_small_last_chunk_takes_a_sentence_over() -> None:
    text = "First sentence here. Second sentence here. Third sentence. End."
    assert chunk_text(text, 60) == ("First sentence here. Second sentence here.", "Third sentence. End.")


def test_lines_of_code_keep_their_indentation() -> None:
    code = "def f(x):\n    if x:\n        return 1\n    return 2"
    assert chunk_text(f"Use it so.\n{code}", 200) == (f"Use it so.\n{code}",)


def test_code_stays_whole_and_a_heading_goes_with_what_follows() -> None:
    code = "def f(x):\n    return x * x"
    text = f"The square of a number is the number times itself.\nHow is it written in Python?\n{code}"
    heading, begin = text.index("How"), text.index("def")
    blocks = (
        ContentBlock(kind="heading", start=heading, end=begin - 1, level=2),
        ContentBlock(kind="code", start=begin, end=len(text)),
    )
    assert chunk_text(text, 90, blocks=blocks)[1] == f"How is it written in Python?\n{code}"
