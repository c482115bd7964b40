"""Vectors without a model: deterministic, of length 1, and near for shared words."""

import math

from hypothesis import given
from hypothesis import strategies as st

from streams.index.embedders import HashedNgrams, hash_ngrams


@given(st.text(max_size=300))
def test_every_text_has_a_vector_of_length_1(text: str) -> None:
    vector = hash_ngrams(text, 64)
    assert len(vector) == 64
    assert math.isclose(math.fsum(value * value for value in vector), 1.0, rel_tol=1e-9)


async def test_vectors_never_change() -> None:
    embedder = HashedNgrams(8)
    assert embedder.name == "hashed-ngrams-8"
    [vector] = await embedder.embed(["Rain in 台北"])
    assert [round(value, 3) for value in vector] == GOLDEN
    await embedder.aclose()


GOLDEN = [0.802, 0.0, -0.535, 0.0, -0.267, 0.0, 0.0, 0.0]
