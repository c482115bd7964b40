"""A model as a folder: ``manifest.json``, ``model.json`` and ``card.md``, there as a whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from handlers.ranking.model import Manifest
from streams.ranking_model import MODEL_FILE

MANIFEST_FILE, CARD_FILE = "manifest.json", "card.md"


def is_free(folder: Path) -> bool:
    """Whether a model may be written there: nothing is, or an empty folder. What is in force is never written over."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def write_model(folder: Path, manifest: Manifest, model: str, card: str) -> None:
    """Writes a model into a folder that is free.

    Raises:
        OSError: It can't be written, or the folder has filled meanwhile.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        (beside / MANIFEST_FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8", newline="\n")
        (beside / MODEL_FILE).write_text(model, "utf-8", newline="\n")
        (beside / CARD_FILE).write_text(card, "utf-8", newline="\n")
        beside.chmod(0o755)
        beside.replace(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
