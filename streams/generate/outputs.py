"""Generates all generated files, and compares them with a checkout.

The content depends only on the topology, the metrics, the schemas and the shipped configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streams.generate.asyncapi import asyncapi
from streams.generate.compose_workers import compose_workers
from streams.generate.examples import FOLDER, examples, is_generated
from streams.generate.grafana import grafana
from streams.generate.graph import topology_page
from streams.generate.json_schemas import goldens, json_schemas
from streams.generate.kubernetes import kubernetes
from streams.generate.pages import handler_page, metrics_page, ranking_features_page, settings_page
from streams.generate.prometheus import prometheus
from streams.runtime.settings_files import read_document
from streams.topology import HANDLERS, TOPICS
from streams.topology.text import without_references

OWNED = (
    *("schemas/json/**/*", "config/generated/**/*", "docs/handlers/**/*"),
    *(f"{FOLDER.as_posix()}/{topic.name}/*.json" for topic in TOPICS if is_generated(topic)),
)
"""Patterns of paths at which all files are generated."""


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

    def and_then(self, later: Drift) -> Drift:
        return Drift(
            tuple(sorted({*self.drifted, *later.drifted})),
            tuple(sorted({*self.missing, *later.missing})),
            tuple(sorted({*self.stale, *later.stale})),
        )

    def __bool__(self) -> bool:
        return bool(self.drifted or self.missing or self.stale)


def generate(root: Path) -> dict[Path, str]:
    document = read_document(root / "config")
    files = {
        **examples(root, document),
        **json_schemas(),
        **asyncapi(),
        **goldens(root),
        **topology_page(),
        **metrics_page(),
        **ranking_features_page(),
        **settings_page(document),
        **grafana(),
        **prometheus(document),
        **compose_workers(),
        **kubernetes(document),
    }
    for handler in HANDLERS:
        files |= handler_page(handler, document)
    return {path: text if path.parts[0] == "schemas" else without_references(text) for path, text in files.items()}


def drift(root: Path, wanted: Mapping[Path, str] | None = None) -> Drift:
    """Compares a checkout with ``wanted``, by default what would be generated."""
    wanted = generate(root) if wanted is None else wanted
    found = {path: (root / path).read_text("utf-8") for path in wanted if (root / path).is_file()}
    present = {path.relative_to(root) for pattern in OWNED for path in root.glob(pattern) if path.is_file()}
    return Drift(
        drifted=tuple(sorted(path for path, text in found.items() if text != wanted[path])),
        missing=tuple(sorted(wanted.keys() - found.keys())),
        stale=tuple(sorted(present - wanted.keys())),
    )


def write(root: Path) -> Drift:
    """Makes the checkout equal to what is generated. Returns the differences before that."""
    before = _write(root)
    if not any(path.is_relative_to(FOLDER) for path in (*before.drifted, *before.missing, *before.stale)):
        return before
    # The AsyncAPI document and the handlers' pages show the examples, so new examples change them too.
    return before.and_then(_write(root))


def _write(root: Path) -> Drift:
    wanted = generate(root)
    before = drift(root, wanted)
    for path in (*before.drifted, *before.missing):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], "utf-8")
    for path in before.stale:
        (root / path).unlink()
    return before
