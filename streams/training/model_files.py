"""Reads, checks and writes the trees that re-rank: a folder with ``manifest.json``, ``model.json`` and ``card.md``."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from pydantic import ValidationError

from handlers.ranking.model import Manifest, ModelMismatchError, RankingModel
from streams.runtime.extras import install_line
from streams.runtime.settings_files import SettingsError

SHIPPED = "shipped"
SHIPPED_MANIFEST = Path(__file__).parents[2] / "handlers" / "ranking" / "trained" / "manifest.json"
MANIFEST_FILE, MODEL_FILE, CARD_FILE = "manifest.json", "model.json", "card.md"


def manifest_path(name: str) -> Path:
    """The manifest of a model: ``shipped``, or a path to a manifest or to its folder."""
    path = SHIPPED_MANIFEST if name == SHIPPED else Path(name)
    return path / MANIFEST_FILE if path.is_dir() else path


def read_ranking_model(name: str) -> RankingModel:
    """The model that ``ranking.trees.model`` names. Raises ModelMismatchError; the message says what to do."""
    if importlib.util.find_spec("xgboost") is None:
        raise ModelMismatchError(
            f"ranking.trees needs XGBoost: {install_line('rank')}, or set ranking.trees.mode to off"
        )
    path = manifest_path(name)
    try:
        manifest = Manifest.model_validate_json(path.read_bytes())
        model = path.with_name(MODEL_FILE).read_bytes().decode()
    except OSError as error:
        raise ModelMismatchError(
            f"{error.filename}: {error.strerror}; name a model's manifest in ranking.trees.model, or {SHIPPED!r}"
        ) from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        stated = ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
        raise ModelMismatchError(f"{path}: {stated}; it is no manifest of a ranking model") from None
    except UnicodeDecodeError:
        raise ModelMismatchError(f"{path.with_name(MODEL_FILE)}: not the JSON that XGBoost writes") from None
    return RankingModel(manifest=manifest, model=model)


def make_ready(model: RankingModel) -> None:
    """Loads and tries a model before the first query needs it. Raises SettingsError if XGBoost can't use it."""
    try:
        model.ready()
    except ModelMismatchError as error:
        raise SettingsError(str(error)) from None


def is_free(folder: Path) -> bool:
    """Whether a model may be written there: nothing is, or an empty folder. What is in force is never written over."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def write_model(folder: Path, manifest: Manifest, model: str, card: str) -> None:
    """Writes a model into a folder that is free.

    Raises OSError if it can't be written, or the folder has filled meanwhile.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as temporary:
        beside = Path(temporary)
        (beside / MANIFEST_FILE).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8", newline="\n")
        (beside / MODEL_FILE).write_text(model, "utf-8", newline="\n")
        (beside / CARD_FILE).write_text(card, "utf-8", newline="\n")
        beside.chmod(0o755)
        beside.replace(folder)
