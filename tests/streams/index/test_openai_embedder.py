"""Vectors from an endpoint: in batches and in order; every fault is one that the pipeline can retry."""

import json
from collections.abc import AsyncIterator

import pytest
from pydantic import ValidationError

from streams.index.embedders import OpenAIEmbedder
from streams.index.ports import IndexDownError, IndexSettingsError
from streams.index.settings import EmbedderSettings
from tests.streams.llm.model_server import Behaviour, ModelServer, Wire, hangs, model_server, raw, status
from tests.tables import tables

TABLES = tables(__file__)

Endpoint = tuple[ModelServer, OpenAIEmbedder]


def answer(*vectors: list[float]) -> Behaviour:
    """An answer with these vectors, the last one first."""
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    body = {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return raw(json.dumps(body).encode())


async def lengths(wire: Wire) -> None:
    """A vector encodes its text's length."""
    await answer(*([float(len(text)), *[0.0] * 6, 1.0] for text in wire.asked.body["input"]))(wire)


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with model_server(lengths) as server:
        embedder = OpenAIEmbedder(
            EmbedderSettings(
                kind="openai", base_url=server.base_url, model="small", dimensions=8, batch=2, timeout_seconds=0.5
            )
        )
        yield server, embedder
        await embedder.aclose()


async def test_texts_go_in_batches_and_come_back_in_order(endpoint: Endpoint) -> None:
    server, embedder = endpoint
    vectors = await embedder.embed(["a", "bb", "ccc"])
    assert [len(asked.body["input"]) for asked in server.asked] == [2, 1]
    assert [round(vector[0] / vector[7]) for vector in vectors] == [1, 2, 3]
    assert all(abs(sum(value * value for value in vector) - 1) < 1e-9 for vector in vectors)


@pytest.mark.parametrize(
    ("behaviour", "error", "words", "after"),
    [
        (status(429, retry_after="9", message="slow down"), IndexDownError, "slow down", 9.0),
        (status(401), IndexDownError, "401", None),
        (status(500), IndexDownError, "500", None),
        (answer(), IndexDownError, "0 vectors for 1 texts", None),
        (answer([0.0] * 8), IndexDownError, "a vector without direction", None),
        (hangs(), IndexDownError, "APITimeoutError", None),
        (answer([1.0, 2.0]), IndexSettingsError, "dimensions to 2", None),
    ],
    ids=["overloaded", "refused", "broken", "no vector", "no direction", "silent", "other dimensions"],
)
async def test_every_fault_has_its_error(
    endpoint: Endpoint, behaviour: Behaviour, error: type[Exception], words: str, after: float | None
) -> None:
    server, embedder = endpoint
    server.behave = behaviour
    with pytest.raises(error, match=words) as raised:
        await embedder.embed(["a"])
    assert getattr(raised.value, "after_seconds", None) == after
    assert len(server.asked) == 1


def test_an_embedder_needs_what_it_works_with() -> None:
    with pytest.raises(ValidationError, match="base_url and model"):
        EmbedderSettings(kind="openai")
    with pytest.raises(ValidationError, match="needs folder"):
        EmbedderSettings(kind="onnx")


@pytest.mark.parametrize(("base_url", "name"), TABLES["its_name_says_which_model_of_whom"])
async def test_its_name_says_which_model_of_whom(base_url: str, name: str) -> None:
    embedder = OpenAIEmbedder(EmbedderSettings(kind="openai", base_url=base_url, model="small", dimensions=8))
    assert embedder.name == name
    await embedder.aclose()
