"""Vectors from a sentence-transformer model on this machine, in ONNX form (extra ``embed``)."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from typing_extensions import override

from streams.index.ports import Embedder, IndexSettingsError, Vector
from streams.index.settings import EmbedderSettings


class OnnxEmbedder(Embedder):
    """Runs the model in its own thread. A vector is the mean of the last layer over a text's tokens, with length 1."""

    def __init__(self, settings: EmbedderSettings) -> None:
        """Loads tokenizer and model. Raises IndexSettingsError if the extra or a file is missing."""
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            problem = f"the onnx embedder needs {error.name}: install assay with its extra, assay[embed]"
            raise IndexSettingsError(problem) from error
        folder = settings.folder
        assert folder is not None, "the settings see to it"  # noqa: S101 - for the type checker
        model, tokens = folder / "model.onnx", folder / "tokenizer.json"
        for file in (model, tokens):
            if not file.is_file():
                raise IndexSettingsError(f"the onnx embedder's folder has no {file.name}: {folder}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(tokens))
        except Exception as error:
            raise IndexSettingsError(f"the onnx embedder can't load {folder}: {error}"[:500]) from error
        self._tokenizer.enable_truncation(settings.max_tokens)
        self._tokenizer.enable_padding()
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._batch = settings.batch
        self.dimensions = settings.dimensions
        # Folders are renamed and models in them replaced, so the contents of the files identify the vectors.
        self.name = f"onnx:{folder.name}@{_digest(model, tokens)}-{settings.max_tokens}"
        self._thread = ThreadPoolExecutor(1, "embedder")

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._batch):
            vectors += await loop.run_in_executor(self._thread, self._run, list(texts[start : start + self._batch]))
        return vectors

    @override
    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _run(self, texts: list[str]) -> list[Vector]:
        import numpy as np

        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([text.attention_mask for text in encoded], dtype=np.int64)
        given: dict[str, Any] = {
            "input_ids": np.array([text.ids for text in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(mask),
        }
        output = self._session.run(None, {name: given[name] for name in self._inputs if name in given})[0]
        if output.shape[-1] != self.dimensions:
            raise IndexSettingsError(
                f"{self.name} makes vectors of {output.shape[-1]} dimensions; "
                f"set index.embedder.dimensions to {output.shape[-1]}"
            )
        # A model returns a vector for each token, or the mean.
        if output.ndim == 3:
            output = (output * mask[..., None]).sum(1) / np.maximum(mask.sum(1, keepdims=True), 1)
        return [_unit(row) for row in output.tolist()]


def _digest(*paths: Path) -> str:
    whole = sha256()
    for path in paths:
        with path.open("rb") as file:
            whole.update(file_digest(file, "sha256").digest())
    return whole.hexdigest()[:12]


def _unit(vector: list[float]) -> Vector:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
