"""``assay generate``: writes what is derived from the topology, or tells what is not up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from streams.generate.products import drift, write

CHECKOUT = Path(__file__).parents[2]


def run_generate(check: bool, as_json: bool, root: Path = CHECKOUT) -> int:
    """Writes the generated files, or compares them with what stands there.

    Args:
        check: Compare only.
        as_json: Print one JSON object instead of lines.
        root: The checkout.

    Returns:
        0; 1 where ``check`` found a difference; 2 where there is no checkout to work on.
    """
    if not (root / "pyproject.toml").is_file():
        print(f"assay generate works on a checkout of Assay, and {root} is none", file=sys.stderr)
        return 2
    found = drift(root) if check else write(root)
    kinds = {"drifted": found.drifted, "missing": found.missing, "stale": found.stale}
    if as_json:
        print(json.dumps({kind: [path.as_posix() for path in paths] for kind, paths in kinds.items()}))
    else:
        for kind, paths in kinds.items():
            for path in paths:
                print(f"{kind}: {path.as_posix()}" if check else f"{_DONE[kind]}: {path.as_posix()}")
        if not found:
            print("everything generated is up to date")
        elif check:
            print("run `assay generate` and commit what it writes", file=sys.stderr)
    return 1 if check and found else 0


_DONE = {"drifted": "written anew", "missing": "written", "stale": "removed"}
