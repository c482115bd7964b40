"""Vectors from an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence

import openai
from typing_extensions import override

from schemas.addresses import web_address
from streams.index.ports import Embedder, IndexDownError, IndexSettingsError, Vector
from streams.index.settings import EmbedderSettings
from streams.runtime.server_address import without_secret


class OpenAIEmbedder(Embedder):
    """Requests vectors in batches. The pipeline retries, with its circuit breaker; this client does not."""

    def __init__(self, settings: EmbedderSettings) -> None:
        self.name = f"openai:{settings.model}@{_place(settings.base_url)}"
        self.dimensions = settings.dimensions
        self._settings = settings
        key = settings.api_key.get_secret_value() or "none"
        # Otherwise the library would send the key, organisation and project of its own variables to any server.
        self._headers: dict[str, str | openai.Omit] = {
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

    def _unit(self, vector: Sequence[float]) -> list[float]:
        if len(vector) != self.dimensions:
            raise IndexSettingsError(
                f"{self.name} makes vectors of {len(vector)} dimensions; set index.embedder.dimensions to {len(vector)}"
            )
        length = math.sqrt(sum(value * value for value in vector))
        if not math.isfinite(length) or not length:
            raise IndexDownError(f"{self.name}: a vector without direction")
        return [value / length for value in vector]


def _place(base_url: str) -> str:
    """Host, port and path of an endpoint, because model names differ between servers."""
    address = web_address(base_url)
    return address.authority + address.path.rstrip("/")
