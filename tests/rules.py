"""The rules that ship in ``config/``, for tests of pure handlers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from schemas.rules import Rules

CONFIG = Path(__file__).parent.parent / "config"
PROMPTS = CONFIG.parent / "handlers" / "prompts"
TREES = CONFIG.parent / "handlers" / "results" / "trained.json"
R = TypeVar("R", bound=Rules)


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name in ("assay.yaml", "config_indexing.yaml", "models.yaml", "domains.yaml", "ranking.yaml"):
        if (CONFIG / name).exists():
            document |= yaml.safe_load((CONFIG / name).read_text("utf-8")) or {}
    document["patterns"] = {
        path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted((CONFIG / "patterns").glob("*.yaml"))
    }
    document["result_trees"] = json.loads(TREES.read_text("utf-8")) if TREES.exists() else {}
    document["prompts"] = {path.stem: path.read_text("utf-8") for path in sorted(PROMPTS.glob("*.md"))}
    return document


def shipped_rules(kind: type[R], **sections: Any) -> R:
    """The shipped rules of a handler, with whole sections replaced by ``sections``."""
    document = _document() | sections
    return kind.model_validate({name: document[name] for name in kind.model_fields if name in document})
