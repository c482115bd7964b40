"""The embedder that the settings name.

The default needs no model: hashed n-grams, which find the same words and parts of words. It is named as what it is, so
that nobody takes it for an embedding model; ``openai`` and ``onnx`` are such models.
"""

from __future__ import annotations

from streams.index.hashed_ngrams import HashedNgrams
from streams.index.ports import Embedder
from streams.index.settings import EmbedderSettings


def make_embedder(settings: EmbedderSettings) -> Embedder:
    """The embedder that the settings name; its library is imported only where it is the one.

    Raises:
        IndexSettingsError: Its library or its model is not there.
    """
    if settings.kind == "openai":
        from streams.index.openai_embedder import OpenAIEmbedder

        return OpenAIEmbedder(settings)
    if settings.kind == "onnx":
        from streams.index.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(settings)
    return HashedNgrams(settings.dimensions)
