"""Vectors without a model: deterministic, of length 1, and near for shared words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.index.embedders import HashedNgrams, hash_ngrams
from tests.tables import tables

TABLES = tables(__file__)


def likeness(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(hash_ngrams(one, 512), hash_ngrams(other, 512), strict=True))


@given(st.text(max_size=300))
def test_every_text_has_a_vector_of_length_1(text: str) -> None:
    vector = hash_ngrams(text, 64)
    assert len(vector) == 64
    assert math.isclose(math.fsum(value * value for value in vector), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize(("question", "near", "far"), TABLES["shared_words_bring_texts_together"])
def test_shared_words_bring_texts_together(question: str, near: str, far: str) -> None:
    assert likeness(question, near) > likeness(question, far) + 0.1


async def test_vectors_never_change() -> None:
    embedder = HashedNgrams(8)
    assert embedder.name == "hashed-ngrams-8"
    [vector] = await embedder.embed(["Rain in 台北"])
    assert [round(value, 3) for value in vector] == GOLDEN
    await embedder.aclose()


GOLDEN = [0.802, 0.0, -0.535, 0.0, -0.267, 0.0, 0.0, 0.0]
