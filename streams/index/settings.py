"""The section ``index`` of the configuration, and whether an embedded index exists, found without opening it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from schemas.rules import OptionalPath, Section
from streams.runtime.server_address import ServerAddress

HASHED_DIMENSIONS = 1024


class EmbedderSettings(Section):
    """What makes vectors of texts."""

    kind: Literal["hashed", "openai", "onnx"] = Field(
        default="hashed",
        description="hashed: n-grams, offline, no model; openai: an OpenAI-compatible endpoint; onnx: a local model.",
    )
    dimensions: int = Field(
        default=HASHED_DIMENSIONS, ge=8, le=8192, description="Of a vector; for openai and onnx those of the model."
    )
    base_url: Annotated[str, ServerAddress("index.embedder.api_key", "https://api.openai.com/v1")] = Field(
        default="", description="openai: the endpoint's base, such as https://api.openai.com/v1."
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="openai: the key.")
    model: str = Field(default="", description="openai: the model's name.")
    batch: int = Field(default=64, ge=1, le=2048, description="Texts of one request, or of one run of the model.")
    timeout_seconds: float = Field(default=30.0, gt=0, description="openai: for one request.")
    folder: OptionalPath = Field(default=None, description="onnx: the folder with model.onnx and tokenizer.json.")
    max_tokens: int = Field(default=512, ge=8, description="onnx: of a text; what comes after them is not seen.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind == "openai" and not (self.base_url and self.model):
            raise ValueError("the openai embedder needs base_url and model")
        if self.kind == "onnx" and self.folder is None:
            raise ValueError("the onnx embedder needs folder, with model.onnx and tokenizer.json in it")
        return self


class IndexSettings(Section):
    """Where pages are indexed. Without a url the index is embedded: files that one process owns."""

    url: Annotated[str, ServerAddress("index.api_key", "http://localhost:6333")] = Field(
        default="", description="A Qdrant server, such as http://localhost:6333; empty: embedded."
    )
    api_key: SecretStr = Field(default=SecretStr(""), description="Of the server.")
    path: OptionalPath = Field(
        default=Path(".assay/index"),
        description="Folder of the embedded index; null or empty: in memory, ends with the process.",
    )
    collection: str = Field(
        default="documents", pattern=r"^[A-Za-z0-9._-]{1,200}$", description="Collection that pages go to."
    )
    utterances: str = Field(
        default="utterances", pattern=r"^[A-Za-z0-9._-]{1,200}$", description="Collection that utterances go to."
    )
    timeout_seconds: float = Field(default=10.0, gt=0, description="For one request to the server.")
    parallel: int = Field(default=8, ge=1, le=64, description="Requests to the server under way at once.")
    count_seconds: float = Field(
        default=30.0, gt=0, description="How often, at most, points and documents are counted for the metrics."
    )
    planned_chunks: int = Field(
        default=10, ge=1, description="Chunks of an article that the estimate beside the real count assumes."
    )
    embedder: EmbedderSettings = Field(default=EmbedderSettings(), description="What makes the vectors.")


def has_collection(index: IndexSettings) -> bool:
    """Whether the folder of an embedded index has the collection of pages; an index in memory is empty.

    A damaged ``meta.json`` counts as a collection, so that opening the index reports the damage.
    """
    if index.path is None:
        return False
    try:
        return index.collection in json.loads((index.path / "meta.json").read_bytes())["collections"]
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True
