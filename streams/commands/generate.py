"""``assay generate``: writes what derives from the topology, or tells what is not up to date, lost or incompatible."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

from streams.generate.goldens import incompatible, lost, release
from streams.generate.products import drift, write

CHECKOUT = Path(__file__).parents[2]


def run_generate(check: bool, as_json: bool, root: Path = CHECKOUT, keep: bool = False) -> int:
    """Writes the generated files, or compares them with what stands there.

    Args:
        check: Compare only.
        as_json: Print one JSON object instead of lines.
        root: The checkout.
        keep: Also keep today's schemas for ever, as those of the version in the package's metadata.

    Returns:
        0; 1 where ``check`` found a difference, where a file that is kept for ever is lost, or where today's events
        break readers of released ones; 2 where there is no checkout to work on.
    """
    if not (root / "pyproject.toml").is_file():
        print(f"assay generate works on a checkout of Assay, and {root} is none", file=sys.stderr)
        return 2
    if keep and not _keep(root):
        return 1
    found = drift(root) if check else write(root)
    kinds = {"drifted": found.drifted, "missing": found.missing, "stale": found.stale}
    gone, broken = lost(root), incompatible(root)
    if as_json:
        told = {kind: [path.as_posix() for path in paths] for kind, paths in kinds.items()}
        print(json.dumps(told | {"lost": gone, "incompatible": broken}))
    else:
        for kind, paths in kinds.items():
            for path in paths:
                print(f"{kind}: {path.as_posix()}" if check else f"{_DONE[kind]}: {path.as_posix()}")
        if not found:
            print("everything generated is up to date")
        elif check:
            print("run `assay generate` and commit what it writes", file=sys.stderr)
    for line in gone:
        print(f"assay generate: {line}", file=sys.stderr)
    for line in broken:
        print(f"assay generate: breaks readers of released events: {line}", file=sys.stderr)
    return 1 if (check and found) or gone or broken else 0


def _keep(root: Path) -> bool:
    try:
        for path in release(root, version("assay")):
            print(f"kept: {path.as_posix()}", file=sys.stderr)
    except ValueError as error:
        print(f"assay generate: {error}", file=sys.stderr)
        return False
    return True


_DONE = {"drifted": "written anew", "missing": "written", "stale": "removed"}
