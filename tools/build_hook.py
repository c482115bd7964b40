"""Puts the packages of the repository below ``assay`` in the wheel: ``handlers`` and ``schemas`` are common names.

The imports of the copies are rewritten. An import hook at run time would not do: a program may have a ``handlers`` of
its own, and both would be ``sys.modules["handlers"]``.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import tokenize
from itertools import pairwise
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("handlers", "schemas", "streams")
BELOW = "assay"


class BelowOneName(BuildHookInterface[Any]):
    """Adds the rewritten copies to a wheel. An editable install and an sdist keep the layout of the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the copies into a folder of its own."""
        if version == "editable" or self.target_name != "wheel":
            return
        self._copies = tempfile.TemporaryDirectory()
        root, copies = Path(self.root), Path(self._copies.name)
        for package in (BELOW, *PACKAGES):
            shutil.copytree(root / package, copies / package, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        modules = modules_of(copies)
        for path in copies.rglob("*.py"):
            path.write_text(below_one_name(path.read_text("utf-8"), modules), "utf-8")
        build_data["force_include"] |= {str(copies / BELOW): BELOW}
        build_data["force_include"] |= {str(copies / package): f"{BELOW}/{package}" for package in PACKAGES}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Removes the copies."""
        if hasattr(self, "_copies"):
            self._copies.cleanup()


def modules_of(root: Path) -> frozenset[str]:
    """The dotted names of the modules below the packages of the repository."""
    files = [file.relative_to(root) for package in PACKAGES for file in (root / package).rglob("*.py")]
    names = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    return frozenset(names - set(PACKAGES))


def below_one_name(source: str, modules: frozenset[str]) -> str:
    """The source with its imports, and with strings that are names of modules, below ``assay``.

    >>> known = frozenset({"schemas.event", "streams.app"})
    >>> below_one_name("from schemas.event import Event", known)
    'from assay.schemas.event import Event'
    >>> below_one_name("import schemas", known)
    'from assay import schemas'
    >>> below_one_name("preload = ('streams.app', 'schemas')  # from schemas import event", known)
    "preload = ('assay.streams.app', 'schemas')  # from schemas import event"
    """
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    for before, token in pairwise(tokens):
        if token.type == tokenize.NAME and token.string in PACKAGES and before.string == "from":
            edits.append((token.start, token.end, f"{BELOW}.{token.string}"))
        elif token.type == tokenize.NAME and token.string in PACKAGES and before.string == "import":
            edits.append((before.start, before.end, f"from {BELOW} import"))
        elif token.type == tokenize.STRING and token.string[1:-1] in modules:
            edits.append((token.start, token.end, f"{token.string[0]}{BELOW}.{token.string[1:]}"))
    for (row, start), (_, end), text in reversed(edits):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + text + line[end:]
    return "".join(lines)
