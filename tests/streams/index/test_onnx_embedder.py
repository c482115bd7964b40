"""Vectors from a local model that the test writes: a table of one vector per word."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from streams.index.embedders import OnnxEmbedder, make_embedder
from streams.index.ports import IndexSettingsError
from streams.index.settings import EmbedderSettings

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


def node(operation: str, inputs: tuple[str, ...], output: str, *attributes: tuple[int, bytes]) -> tuple[int, bytes]:
    """A node of a graph (field 1 of GraphProto)."""
    return 1, message(*((1, name) for name in inputs), (2, output), (4, operation), *attributes)


def value_of(field: int, name: str, kind: int) -> tuple[int, bytes]:
    """A tensor that goes into or comes out of a graph; 1 is float, 7 is int64."""
    return field, message((1, name), (2, message((1, message((1, kind))))))


def onnx_model(pooled: bool) -> bytes:
    """A model that looks up the vector of each token and, where it is pooled, takes their mean itself."""
    table = message((1, TABLE.shape[0]), (1, TABLE.shape[1]), (2, 1), (8, "table"), (9, TABLE.tobytes()))
    nodes = [node("Gather", ("table", "input_ids"), "tokens")]
    if pooled:
        axes = message((1, "axes"), (8, 1), (20, 7))
        keepdims = message((1, "keepdims"), (3, 0), (20, 2))
        nodes.append(node("ReduceMean", ("tokens",), "mean", (5, axes), (5, keepdims)))
    inputs = [value_of(11, name, 7) for name in ("input_ids", "attention_mask")]
    graph = message(*nodes, (2, "toy"), (5, table), *inputs, value_of(12, "mean" if pooled else "tokens", 1))
    return message((1, 8), (7, graph), (8, message((1, ""), (2, 13))))


def written(folder: Path, pooled: bool = False) -> Path:
    """A folder with a model and its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))  # noqa: S106
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", WORDS["[CLS]"]), ("[SEP]", WORDS["[SEP]"])]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "model.onnx").write_bytes(onnx_model(pooled))
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


async def test_pooled_model_is_not_averaged_again(tmp_path: Path) -> None:
    made = OnnxEmbedder(EmbedderSettings(kind="onnx", folder=written(tmp_path, pooled=True), dimensions=8))
    rain, sun = await made.embed(["rain", "sun"])
    assert rain == pytest.approx(direction(6, 0, 2))
    assert sun == pytest.approx(direction(0, 6, 2))
    await made.aclose()


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
