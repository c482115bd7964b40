"""The embedder that the settings name. The default hashes words and parts of words into vectors and needs no model.

Hashed texts are near each other if they share words, parts of words or pairs of Chinese characters. Different words of
one meaning stay apart; ``openai`` and ``onnx`` are embedding models. Source: Weinberger et al., Feature Hashing for
Large Scale Multitask Learning.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from zlib import crc32

from typing_extensions import override

from streams.index.ports import Embedder, Vector
from streams.index.settings import EmbedderSettings

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+|[^\W_]+")
_HAN_FROM = "\u3040"
_LONG_WORD = 40
_GRAM = 4
_WORD_WEIGHT = 1.0
_PART_WEIGHT = 0.4
_SIGN = 1 << 31
_YIELD_AFTER = 16  # texts; then the event loop runs other tasks


class HashedNgrams(Embedder):
    """The default embedder: deterministic, offline, about 0.2 ms for 500 characters."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.name = f"hashed-ngrams-{dimensions}"

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for number, text in enumerate(texts):
            vectors.append(hash_ngrams(text, self.dimensions))
            if number % _YIELD_AFTER == 0:
                await asyncio.sleep(0)
        return vectors

    @override
    async def aclose(self) -> None: ...


def hash_ngrams(text: str, dimensions: int) -> list[float]:
    """The vector of a text, with length 1: signed hashes of its features, weighted by the logarithm of their counts.

    A text without letters or digits gets the vector of its raw characters.

    >>> hash_ngrams("Rain", 64) == hash_ngrams("rain", 64)
    True
    """
    vector = [0.0] * dimensions
    counts = Counter(_features(unicodedata.normalize("NFKC", text).casefold()))
    for (feature, weight), count in (counts or Counter([(text, 1.0)])).items():
        hashed = crc32(feature.encode("utf-8", "replace"))
        amount = weight * (1.0 + math.log(count))
        vector[hashed % dimensions] += amount if hashed & _SIGN else -amount
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        vector[0] = length = 1.0
    return [value / length for value in vector]


def _features(text: str) -> Iterator[tuple[str, float]]:
    """Words and their parts of four letters; for Chinese and Japanese, characters and pairs of them.

    Short words weigh less, because most of them are in every text.
    """
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token[0] >= _HAN_FROM and token[0] <= "\u9fff":
            yield from ((token[at : at + 2], _WORD_WEIGHT) for at in range(len(token) - 1))
            yield from ((character, _PART_WEIGHT) for character in token)
            continue
        token = token[:_LONG_WORD]
        yield f" {token} ", _WORD_WEIGHT * min(1.0, len(token) / 6)
        if len(token) > _GRAM:
            yield from ((token[at : at + _GRAM], _PART_WEIGHT) for at in range(len(token) - _GRAM + 1))


def make_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder of the settings. Raises IndexSettingsError if its library or its model is missing."""
    if settings.kind == "openai":
        from streams.index.openai_embedder import OpenAIEmbedder

        return OpenAIEmbedder(settings)
    if settings.kind == "onnx":
        from streams.index.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(settings)
    return HashedNgrams(settings.dimensions)
