"""Vectors from an endpoint: in batches and in order; every fault is one that the pipeline can retry."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import ValidationError

from streams.index.openai_embedder import OpenAIEmbedder
from streams.index.ports import IndexDownError, IndexSettingsError
from streams.index.settings import EmbedderSettings
from tests.tables import tables

TABLES = tables(__file__)


class Endpoint:
    """An embeddings endpoint on loopback: vectors encode a text's length; the test sets its behaviour."""

    def __init__(self) -> None:
        self.status = 200
        self.headers = ""
        self.body: dict[str, Any] | None = None
        self.asked: list[dict[str, Any]] = []
        self.hangs = False
        self.heads: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            self.heads.append(head)
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            self.asked.append(asked)
            if self.hangs:
                await asyncio.sleep(30)
            data = [
                {
                    "object": "embedding",
                    "index": place,
                    "embedding": [float(len(text)), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
                }
                for place, text in enumerate(asked["input"])
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            reply = {"object": "list", "data": data[::-1], "model": asked["model"], "usage": usage}
            content = json.dumps(self.body or reply).encode()
            writer.write(
                f"HTTP/1.1 {self.status} x\r\ncontent-type: application/json\r\n{self.headers}"
                f"content-length: {len(content)}\r\nconnection: close\r\n\r\n".encode()
                + content
            )
            await writer.drain()
        finally:
            writer.close()


@pytest.fixture
async def endpoint() -> AsyncIterator[tuple[Endpoint, OpenAIEmbedder]]:
    behaviour = Endpoint()
    server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = EmbedderSettings(
        kind="openai", base_url=f"http://127.0.0.1:{port}/v1", model="small", dimensions=8, batch=2, timeout_seconds=0.5
    )
    embedder = OpenAIEmbedder(settings)
    yield behaviour, embedder
    await embedder.aclose()
    server.close()


async def test_texts_go_in_batches_and_come_back_in_order(endpoint: tuple[Endpoint, OpenAIEmbedder]) -> None:
    behaviour, embedder = endpoint
    vectors = await embedder.embed(["a", "bb", "ccc"])
    assert [len(asked["input"]) for asked in behaviour.asked] == [2, 1]
    assert [round(vector[0] / vector[7]) for vector in vectors] == [1, 2, 3]
    assert all(abs(sum(value * value for value in vector) - 1) < 1e-9 for vector in vectors)


async def test_an_endpoint_that_is_overloaded_says_when_to_come_again(
    endpoint: tuple[Endpoint, OpenAIEmbedder],
) -> None:
    behaviour, embedder = endpoint
    behaviour.status, behaviour.headers, behaviour.body = 429, "retry-after: 9\r\n", {"error": {"message": "slow down"}}
    with pytest.raises(IndexDownError, match="slow down") as raised:
        await embedder.embed(["a"])
    assert raised.value.after_seconds == 9.0
    assert len(behaviour.asked) == 1


@pytest.mark.parametrize("status", [401, 500])
async def test_refusals_and_faults_are_trouble(endpoint: tuple[Endpoint, OpenAIEmbedder], status: int) -> None:
    behaviour, embedder = endpoint
    behaviour.status, behaviour.body = status, {"error": {"message": "no"}}
    with pytest.raises(IndexDownError, match=str(status)):
        await embedder.embed(["a"])


@pytest.mark.parametrize("data", [[], [{"object": "embedding", "index": 0, "embedding": [0.0] * 8}]])
async def test_an_answer_without_a_vector_is_trouble(
    endpoint: tuple[Endpoint, OpenAIEmbedder], data: list[dict[str, Any]]
) -> None:
    behaviour, embedder = endpoint
    behaviour.body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    with pytest.raises(IndexDownError):
        await embedder.embed(["a"])


async def test_an_endpoint_that_hangs_is_given_up(endpoint: tuple[Endpoint, OpenAIEmbedder]) -> None:
    behaviour, embedder = endpoint
    behaviour.hangs = True
    with pytest.raises(IndexDownError, match="APITimeoutError"):
        await embedder.embed(["a"])


async def test_wrong_dimensions_are_a_settings_error(
    endpoint: tuple[Endpoint, OpenAIEmbedder],
) -> None:
    behaviour, embedder = endpoint
    item = {"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}
    behaviour.body = {"object": "list", "data": [item], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    with pytest.raises(IndexSettingsError, match="dimensions to 2"):
        await embedder.embed(["a"])


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
