"""Generates all generated files, and compares them with a checkout.

The content depends only on the topology, the metrics, the schemas and the shipped configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streams.generate.alerts import prometheus
from streams.generate.asyncapi import asyncapi
from streams.generate.compose_workers import compose_workers
from streams.generate.grafana import grafana
from streams.generate.graph import topology_page
from streams.generate.json_schemas import goldens, json_schemas
from streams.generate.pages import handler_page, metrics_page, ranking_features_page
from streams.generate.text import without_references
from streams.settings_files import read_document
from streams.topology import HANDLERS

OWNED = ("schemas/json", "config/generated", "docs/handlers")
"""Folders with generated files only."""


@dataclass(frozen=True, slots=True)
class Drift:
    """How a checkout differs from what would be generated; paths in it, sorted.

    Attributes:
        drifted: Files with another content.
        missing: Files that are not there.
        stale: Files in a generated folder that nothing generates any more.
    """

    drifted: tuple[Path, ...]
    missing: tuple[Path, ...]
    stale: tuple[Path, ...]

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.drifted or self.missing or self.stale)


def generate(root: Path) -> dict[Path, str]:
    """The contents of all generated files, by path in the checkout. Its configuration is read."""
    document = read_document(root / "config")
    files = {
        **json_schemas(),
        **asyncapi(),
        **goldens(root),
        **topology_page(),
        **metrics_page(),
        **ranking_features_page(),
        **grafana(),
        **prometheus(document),
        **compose_workers(),
    }
    for handler in HANDLERS:
        files |= handler_page(handler, document)
    return {path: text if path.parts[0] == "schemas" else without_references(text) for path, text in files.items()}


def drift(root: Path, wanted: Mapping[Path, str] | None = None) -> Drift:
    """Compares a checkout with ``wanted``, by default what would be generated."""
    wanted = generate(root) if wanted is None else wanted
    found = {path: (root / path).read_text("utf-8") for path in wanted if (root / path).is_file()}
    present = {path.relative_to(root) for folder in OWNED for path in (root / folder).glob("**/*") if path.is_file()}
    return Drift(
        drifted=tuple(sorted(path for path, text in found.items() if text != wanted[path])),
        missing=tuple(sorted(wanted.keys() - found.keys())),
        stale=tuple(sorted(present - wanted.keys())),
    )


def write(root: Path) -> Drift:
    """Makes the checkout equal to what is generated. Returns the differences before that."""
    wanted = generate(root)
    before = drift(root, wanted)
    for path in (*before.drifted, *before.missing):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], "utf-8")
    for path in before.stale:
        (root / path).unlink()
    return before
