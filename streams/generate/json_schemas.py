"""The JSON Schema of each topic's event, and the record of released schemas and golden examples.

A schema describes the wire: names, required fields, bounds, and the models' docstrings as descriptions.
``schemas/released/<topic>/<version>.schema.json`` holds a topic's schema as of a release in which it changed.
``schemas/goldens.sha256`` lists every released schema and golden example with its digest, as ``sha256sum`` writes it. A
listed file that is removed or edited fails the check. Generated examples are not listed: they are checked against what
the handlers write.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from streams.generate.compatibility import breaks
from streams.generate.examples import FOLDER, is_generated
from streams.topology import TOPICS, Topic
from streams.topology.event_schemas import schema_of
from streams.topology.text import to_json


def json_schemas() -> dict[Path, str]:
    return {Path("schemas/json") / f"{topic.name}.schema.json": to_json(schema_of(topic)) for topic in TOPICS}


LIST = Path("schemas/goldens.sha256")
RELEASED = Path("schemas/released")


def goldens(root: Path) -> dict[Path, str]:
    """The list with new files added; empty if there are no files."""
    listed = _listed(root)
    listed |= {path: _digest(root / path) for path in _files(root) if path not in listed}
    lines = [f"{digest}  {path.as_posix()}\n" for path, digest in sorted(listed.items())]
    return {LIST: "".join(lines)} if lines else {}


def lost(root: Path) -> list[str]:
    found = []
    for path, digest in sorted(_listed(root).items()):
        if not (root / path).is_file():
            found.append(f"{path.as_posix()} is gone; released schemas and goldens are never removed")
        elif _digest(root / path) != digest:
            found.append(
                f"{path.as_posix()} has been edited; add another file, or drop its line if it was never released"
            )
    return found


def incompatible(root: Path, topics: Sequence[Topic] = TOPICS) -> list[str]:
    today = {topic.name: topic for topic in topics}
    found: list[str] = []
    for name, versions in _released(root).items():
        if name not in today:
            found.append(f"{name}: the topic is gone; its records of {', '.join(versions)} can't be read")
            continue
        current = schema_of(today[name])
        for version, schema in versions.items():
            found += [f"{name} since {version}: {change}" for change in breaks(schema, current)]
    return found


def release(root: Path, version: str, topics: Sequence[Topic] = TOPICS) -> list[Path]:
    """Writes the schemas that have changed as those of a version. Returns the files written.

    Raises ValueError if the version was released with another schema, or readers of released ones would break.
    """
    if found := incompatible(root, topics):
        raise ValueError("; ".join(found))
    released, written = _released(root), []
    for topic in topics:
        versions, current = released.get(topic.name, {}), schema_of(topic)
        if versions and current == list(versions.values())[-1]:
            continue
        if version in versions:
            raise ValueError(f"{topic.name} was released as of {version} with another schema; raise the version first")
        path = RELEASED / topic.name / f"{version}.schema.json"
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(to_json(current), "utf-8")
        written.append(path)
    return written


def _released(root: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((root / RELEASED).glob("*/*.schema.json"), key=_age):
        found.setdefault(path.parent.name, {})[_version(path)] = json.loads(path.read_text("utf-8"))
    return found


def _version(path: Path) -> str:
    return path.name.removesuffix(".schema.json")


def _age(path: Path) -> tuple[str, list[int]]:
    return path.parent.name, [int(part) for part in _version(path).split(".") if part.isdigit()]


def _files(root: Path) -> list[Path]:
    written = [topic.name for topic in TOPICS if not is_generated(topic)]
    patterns = [f"{FOLDER}/{name}/*.json" for name in written]
    patterns += [f"{RELEASED}/*/*.json"]
    return sorted(path.relative_to(root) for pattern in patterns for path in root.glob(pattern))


def _listed(root: Path) -> dict[Path, str]:
    if not (root / LIST).is_file():
        return {}
    lines = (root / LIST).read_text("utf-8").splitlines()
    return {Path(path): digest for digest, _, path in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
