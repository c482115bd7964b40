"""Vectors from a local model that the test writes: a table of one vector per word."""

import json
import math
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams.index.embedders import HashedNgrams, OnnxEmbedder, OpenAIEmbedder, hash_ngrams, make_embedder
from streams.index.ports import IndexDownError, IndexSettingsError
from streams.index.settings import EmbedderSettings
from tests.streams.llm.model_server import Behaviour, ModelServer, Wire, hangs, model_server, raw, status
from tests.tables import tables

TABLES = tables(__file__)

WORDS = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "rain": 4, "sun": 5}
TABLE = np.zeros((len(WORDS), 8), dtype=np.float32)
"""The vector of each word. That of the padding is long: a mean over padding would show."""
TABLE[0] = 90
for at, (dimension, length) in enumerate([(3, 1), (2, 1), (2, 1), (0, 6), (1, 6)], 1):
    TABLE[at, dimension] = length


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """A protobuf message: numbered fields, each a varint, a text or bytes."""
    encoded = b""
    for number, value in fields:
        if isinstance(value, int):
            encoded += varint(number << 3) + varint(value)
        else:
            given = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | 2) + varint(len(given)) + given
    return encoded


def varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + varint(value >> 7) if value > 127 else bytes([value])


def node(operation: str, inputs: tuple[str, ...], output: str) -> tuple[int, bytes]:
    """A node of a graph (field 1 of GraphProto)."""
    return 1, message(*((1, name) for name in inputs), (2, output), (4, operation))


def value_of(field: int, name: str, kind: int) -> tuple[int, bytes]:
    """A tensor that goes into or comes out of a graph; 1 is float, 7 is int64."""
    return field, message((1, name), (2, message((1, message((1, kind))))))


def onnx_model() -> bytes:
    """A model that looks up the vector of each token."""
    table = message((1, TABLE.shape[0]), (1, TABLE.shape[1]), (2, 1), (8, "table"), (9, TABLE.tobytes()))
    lookup = node("Gather", ("table", "input_ids"), "tokens")
    inputs = [value_of(11, name, 7) for name in ("input_ids", "attention_mask")]
    graph = message(lookup, (2, "toy"), (5, table), *inputs, value_of(12, "tokens", 1))
    return message((1, 8), (7, graph), (8, message((1, ""), (2, 13))))


def written(folder: Path) -> Path:
    """A folder with a model and its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))  # noqa: S106
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", WORDS["[CLS]"]), ("[SEP]", WORDS["[SEP]"])]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(onnx_model())
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy").mkdir()
    return written(tmp_path / "toy")


@pytest.fixture
async def embedder(folder: Path) -> AsyncIterator[OnnxEmbedder]:
    made = OnnxEmbedder(EmbedderSettings(kind="onnx", folder=folder, dimensions=8, batch=2, max_tokens=16))
    yield made
    await made.aclose()


def direction(*counts: float) -> list[float]:
    """The unit vector of so much of each dimension."""
    return [*(np.array(counts) / np.linalg.norm(counts)), *[0.0] * (8 - len(counts))]


async def test_vector_is_the_unit_mean_of_unpadded_tokens(embedder: OnnxEmbedder) -> None:
    """The batches are two texts and one; in the first, the short text is padded."""
    vectors = await embedder.embed(["rain", "rain sun rain", "snow"])
    assert vectors[0] == pytest.approx(direction(6, 0, 2, 0))
    assert vectors[1] == pytest.approx(direction(12, 6, 2, 0))
    assert vectors[2] == pytest.approx(direction(0, 0, 2, 1))
    assert await embedder.embed([]) == []


async def test_wrong_dimensions_are_a_settings_error(folder: Path) -> None:
    made = make_embedder(EmbedderSettings(kind="onnx", folder=folder, dimensions=128))
    with pytest.raises(IndexSettingsError, match="dimensions to 8"):
        await made.embed(["rain"])
    await made.aclose()


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(IndexSettingsError, match=r"has no model\.onnx"):
        make_embedder(EmbedderSettings(kind="onnx", folder=tmp_path, dimensions=384))


def test_invalid_model_files_are_reported(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(IndexSettingsError, match="can't load"):
        make_embedder(EmbedderSettings(kind="onnx", folder=tmp_path, dimensions=384))


async def test_embedder_name_identifies_the_model_at_any_path(folder: Path, tmp_path: Path) -> None:
    same, other = (tmp_path / name / folder.name for name in ("same", "other"))
    for copy in (same, other):
        shutil.copytree(folder, copy)
    (other / "tokenizer.json").write_text((folder / "tokenizer.json").read_text("utf-8") + "\n", "utf-8")
    made = [make_embedder(EmbedderSettings(kind="onnx", folder=place)) for place in (folder, same, other)]
    first, again, third = (embedder.name for embedder in made)
    assert first == again != third
    assert first.startswith(f"onnx:{folder.name}@")
    for embedder in made:
        await embedder.aclose()


# --- an endpoint -----------------------------------------------------------------------------------------------------


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


# --- vectors without a model -----------------------------------------------------------------------------------------


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
