"""The embedders, of which the settings name one: hashed words, a model on this machine (ONNX), or an OpenAI endpoint.

The default hashes words and parts of words into vectors and needs no model. Hashed texts are near each other if they
share words, parts of words or pairs of Chinese characters. Different words of one meaning stay apart. Source:
Weinberger et al., Feature Hashing for Large Scale Multitask Learning.
"""

from __future__ import annotations

import asyncio
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any
from zlib import crc32

from typing_extensions import override

from schemas.addresses import web_address
from streams.index.ports import Embedder, IndexDownError, IndexSettingsError, Vector
from streams.index.settings import EmbedderSettings
from streams.runtime.server_address import without_secret

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
    if not any(vector):
        vector[0] = 1.0
    return _unit(vector)


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
        return OpenAIEmbedder(settings)
    if settings.kind == "onnx":
        return OnnxEmbedder(settings)
    return HashedNgrams(settings.dimensions)


class OnnxEmbedder(Embedder):
    """A sentence-transformer model in ONNX form, in a thread of its own (extra ``embed``).

    A vector is the mean of the last layer over a text's tokens, with length 1.
    """

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
        _check_dimensions(self, output.shape[-1])
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


def _unit(vector: list[float]) -> list[float]:
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]


class OpenAIEmbedder(Embedder):
    """Requests vectors in batches from an OpenAI-compatible endpoint. The pipeline retries; this client does not."""

    def __init__(self, settings: EmbedderSettings) -> None:
        import openai

        self.name = f"openai:{settings.model}@{_place(settings.base_url)}"
        self.dimensions = settings.dimensions
        self._settings = settings
        key = settings.api_key.get_secret_value() or "none"
        # Otherwise the library would send the key, organisation and project of its own variables to any server.
        self._headers: dict[str, Any] = {
            "Authorization": f"Bearer {key}",
            "OpenAI-Organization": openai.Omit(),
            "OpenAI-Project": openai.Omit(),
        }
        self._client = openai.AsyncOpenAI(
            base_url=settings.base_url, api_key=key, max_retries=0, timeout=settings.timeout_seconds
        )

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = []
        for start in range(0, len(texts), self._settings.batch):
            vectors += await self._ask(texts[start : start + self._settings.batch])
        return vectors

    @override
    async def aclose(self) -> None:
        await self._client.close()

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        import openai

        try:
            reply = await self._client.embeddings.create(
                model=self._settings.model, input=list(texts), encoding_format="float", extra_headers=self._headers
            )
        except openai.APIStatusError as error:
            retry_after = error.response.headers.get("retry-after", "")
            after = float(retry_after[:9]) if retry_after.isascii() and retry_after.isdigit() else None
            raise IndexDownError(self._explained(f"status {error.status_code}: {error}"), after) from error
        except openai.OpenAIError as error:
            raise IndexDownError(self._explained(f"{type(error).__name__}: {error}")) from error
        # Some servers leave the index out; their order is that of the texts.
        data = sorted(reply.data or (), key=lambda item: item.index or 0)
        if len(data) != len(texts):
            raise IndexDownError(f"{self.name}: {len(data)} vectors for {len(texts)} texts")
        return [self._unit(item.embedding) for item in data]

    def _explained(self, text: str) -> str:
        return without_secret(f"{self.name}: {text}", self._settings.api_key.get_secret_value())

    def _unit(self, vector: list[float]) -> list[float]:
        _check_dimensions(self, len(vector))
        if not any(vector) or not all(map(math.isfinite, vector)):
            raise IndexDownError(f"{self.name}: a vector without direction")
        return _unit(vector)


def _check_dimensions(embedder: Embedder, found: int) -> None:
    if found != embedder.dimensions:
        raise IndexSettingsError(
            f"{embedder.name} makes vectors of {found} dimensions; set index.embedder.dimensions to {found}"
        )


def _place(base_url: str) -> str:
    """Host, port and path of an endpoint, because model names differ between servers."""
    address = web_address(base_url)
    return address.authority + address.path.rstrip("/")
