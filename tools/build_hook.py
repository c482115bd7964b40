"""Puts the packages of the repository below ``assay`` in the wheel: ``handlers`` and ``schemas`` are common names.

The imports of the copies are rewritten. An import hook at run time would not do: a program may have a ``handlers`` of
its own, and both would be ``sys.modules["handlers"]``. With ``ASSAY_COMPILE`` mypyc compiles the page reader.
"""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGES = ("handlers", "schemas", "streams")
BELOW = "assay"
LEVEL = os.environ.get("ASSAY_COMPILE", "")
"""The C compiler's level of optimisation, 0 to 3; "" compiles nothing."""
_COMPILED = ("html", "text", "trees")
"""Packages of ``handlers`` that are most of the cost of a page."""
_NOT_COMPILED = ("Section", "Generic")
"""Bases of classes that mypyc cannot make: models of pydantic, and generic classes with slots."""


class BelowOneName(BuildHookInterface[Any]):
    """Adds the rewritten copies to a wheel. An editable install and an sdist keep the layout of the repository."""

    def dependencies(self) -> list[str]:
        """What a compiling build needs: mypy reads the types of all imports."""
        return [*self.metadata.core.dependencies, "mypy[mypyc]>=2.4"] if LEVEL else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the copies into a folder of its own."""
        if version == "editable" or self.target_name != "wheel":
            return
        self._copies = tempfile.TemporaryDirectory()
        root, copies = Path(self.root), Path(self._copies.name)
        for package in ("", *PACKAGES):
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(root / (package or BELOW), copies / BELOW / package, ignore=ignored)
        modules = modules_of(root)
        for path in copies.rglob("*.py"):
            try:
                path.write_text(below_one_name(path.read_text("utf-8"), modules), "utf-8")
            except ValueError as error:
                raise ValueError(f"{path.relative_to(copies)}, {error}") from error
        if LEVEL:
            _compile(copies, root / "pyproject.toml")
            build_data |= {"pure_python": False, "infer_tag": True}
        build_data["force_include"] |= {str(copies / BELOW): BELOW}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Removes the copies."""
        if hasattr(self, "_copies"):
            self._copies.cleanup()


def _compile(copies: Path, settings: Path) -> None:
    """Puts extension modules beside those modules of the page reader that mypyc can compile."""
    from mypyc.build import mypycify
    from setuptools import Distribution

    files = [file for name in _COMPILED for file in sorted((copies / BELOW / "handlers" / name).rglob("*.py"))]
    names = [str(file.relative_to(copies)) for file in files if _is_compilable(file.read_text("utf-8"))]
    with contextlib.chdir(copies):
        options = [f"--config-file={settings}", *names]
        extensions = mypycify(options, opt_level=LEVEL, debug_level="0", group_name=f"{BELOW}.page_reader")
        distribution = Distribution({"name": BELOW, "ext_modules": extensions})
        distribution.get_command_obj("build_ext").inplace = True
        distribution.run_command("build_ext")


def _is_compilable(source: str) -> bool:
    """Whether a module has statements, and no class that mypyc cannot make."""
    tree = ast.parse(source)
    bases = (base for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases)
    return len(tree.body) > 1 and not any(ast.unparse(base).startswith(_NOT_COMPILED) for base in bases)


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
    >>> below_one_name("import json, schemas, streams.app as app", known)
    'import json; from assay import schemas; import assay.streams.app as app'
    >>> below_one_name("import streams.app", known)
    'import assay.streams.app; from assay import streams'
    >>> below_one_name("preload = ('streams.app', 'schemas', f'streams.app')  # from schemas import event", known)
    "preload = ('assay.streams.app', 'schemas', f'streams.app')  # from schemas import event"
    """
    lines = source.encode().splitlines(keepends=True)
    for (row, start), (end_row, end), text in sorted(_edits(ast.parse(source), lines, modules), reverse=True):
        first, last = lines[row - 1][:start], lines[end_row - 1][end:]
        lines[row - 1 : end_row] = [first + text.encode() + last]
    return b"".join(lines).decode()


_Edit = tuple[tuple[int, int], tuple[int, int], str]
"""Where a text begins and ends (line, offset in bytes), and what takes its place."""


def _edits(tree: ast.AST, lines: list[bytes], modules: frozenset[str]) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import) and any(_is_ours(alias.name) for alias in child.names):
                end = child.end_lineno or 0, child.end_col_offset or 0
                yield (child.lineno, child.col_offset), end, "; ".join(map(_imported, child.names))
                continue
            if isinstance(child, ast.ImportFrom) and not child.level and _is_ours(child.module or ""):
                name = child.module or ""
            # A part of an f-string has the place of the whole string.
            elif isinstance(child, ast.Constant) and child.value in modules and not isinstance(node, ast.JoinedStr):
                name = child.value
            else:
                continue
            column = lines[child.lineno - 1].find(name.encode(), child.col_offset)
            if column < 0:
                raise ValueError(f"line {child.lineno}: {name} must be on the line where its statement begins")
            place = child.lineno, column
            yield place, place, f"{BELOW}."


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _imported(alias: ast.alias) -> str:
    """The statement that binds what one name of an import binds."""
    bound = f" as {alias.asname}" if alias.asname else ""
    if not _is_ours(alias.name):
        return f"import {alias.name}{bound}"
    package, _, below = alias.name.partition(".")
    if not below:
        return f"from {BELOW} import {package}{bound}"
    return f"import {BELOW}.{alias.name}{bound}" + ("" if bound else f"; from {BELOW} import {package}")
