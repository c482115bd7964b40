"""Generates all generated files, and compares them with a checkout.

The content depends only on the topology, the metrics, the schemas and the shipped configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from streams.generate.asyncapi import asyncapi
from streams.generate.examples import FOLDER, examples, is_generated
from streams.generate.json_schemas import goldens, json_schemas
from streams.generate.kubernetes import kubernetes
from streams.generate.monitoring import grafana, prometheus
from streams.generate.pages import handler_page, topology_page
from streams.generate.templates import compose_workers
from streams.runtime.settings_files import read_document
from streams.topology import HANDLERS, TOPICS
from streams.topology.text import without_references

OWNED = (
    *("schemas/json/**/*", "config/generated/**/*", "docs/handlers/**/*"),
    *(f"{FOLDER.as_posix()}/{topic.name}/*.json" for topic in TOPICS if is_generated(topic)),
)
"""Patterns of paths at which all files are generated."""


Drift = dict[Path, str]
"""Files of a checkout that differ from what would be generated: ``drifted`` ones in their content, ``missing`` ones are
not there, and nothing generates ``stale`` ones any more."""


def generate(root: Path) -> dict[Path, str]:
    document = read_document(root / "config")
    files = {
        **examples(root, document),
        **json_schemas(),
        **asyncapi(),
        **goldens(root),
        **topology_page(),
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
    present = {path.relative_to(root) for pattern in OWNED for path in root.glob(pattern) if path.is_file()}
    found = dict.fromkeys(present - wanted.keys(), "stale")
    for path, text in wanted.items():
        if not (root / path).is_file():
            found[path] = "missing"
        elif (root / path).read_text("utf-8") != text:
            found[path] = "drifted"
    return dict(sorted(found.items()))


def write(root: Path) -> Drift:
    """Makes the checkout equal to what is generated. Returns the differences before that."""
    before = _write(root)
    if any(path.is_relative_to(FOLDER) for path in before):
        # The AsyncAPI document and the handlers' pages show the examples, so new examples change them too.
        before = _write(root) | before
    return before


def _write(root: Path) -> Drift:
    wanted = generate(root)
    before = drift(root, wanted)
    for path, kind in before.items():
        if kind == "stale":
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path], "utf-8")
    return before
