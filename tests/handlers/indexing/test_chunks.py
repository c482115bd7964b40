"""Chunks: never too large, nothing lost, cut where a reader would cut."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handlers.indexing.chunks import ChunkUnit, chunk_text
from handlers.text.sentences import count_words
from schemas.pages import ContentBlock
from tests.cpu import cpu_seconds
from tests.tables import tables

TABLES = tables(__file__)

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


@pytest.mark.parametrize(("text", "size", "chunks"), TABLES["cut"].values(), ids=TABLES["cut"])
def test_a_text_is_cut_where_a_reader_would_cut(text: str, size: int, chunks: tuple[str, ...]) -> None:
    assert chunk_text(text, size) == chunks


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


def test_code_stays_whole_and_a_heading_goes_with_what_follows() -> None:
    code = "def f(x):\n    return x * x"
    text = f"The square of a number is the number times itself.\nHow is it written in Python?\n{code}"
    heading, begin = text.index("How"), text.index("def")
    blocks = (
        ContentBlock(kind="heading", start=heading, end=begin - 1, level=2),
        ContentBlock(kind="code", start=begin, end=len(text)),
    )
    assert chunk_text(text, 90, blocks=blocks)[1] == f"How is it written in Python?\n{code}"
