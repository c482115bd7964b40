"""Puts the packages of the repository below ``assay`` in the wheel: ``handlers`` and ``schemas`` are common names.

The imports of the copies are rewritten. An import hook at run time would not do: a program may have a ``handlers`` of
its own, and both would be ``sys.modules["handlers"]``. With ``ASSAY_COMPILE`` mypyc compiles the page reader.
"""

import ast
import contextlib
import os
import re
import shutil
import tempfile
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
_OURS = rf"(?:{'|'.join(PACKAGES)})\b"
_WHOLE = re.compile(rf"^(\s*)import ({_OURS})$", re.MULTILINE)
_FROM = re.compile(rf"^(\s*)from (?={_OURS}[.\w]* import )", re.MULTILINE)
_OTHER = re.compile(rf"^\s*import .*(?<![.\w]){_OURS}.*", re.MULTILINE)
_TEXT = re.compile(rf"(?<!\w)([\"'])({_OURS}[.\w]+)(?=\1)")


class BelowOneName(BuildHookInterface[Any]):
    """Adds the rewritten copies to a wheel. An editable install and an sdist keep the layout of the repository."""

    def dependencies(self) -> list[str]:
        """What a compiling build needs: mypy reads the types of all imports."""
        return [*self.metadata.core.dependencies, "mypy[mypyc]>=2.4"] if LEVEL else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
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


def below_one_name(source: str, modules: frozenset[str]) -> str:
    """The source with its imports, and with strings that are names of modules, below ``assay``.

    >>> known = frozenset({"schemas.event", "streams.app"})
    >>> below_one_name("from schemas.event import Event", known)
    'from assay.schemas.event import Event'
    >>> below_one_name("import schemas", known)
    'from assay import schemas'
    >>> below_one_name("preload = ('streams.app', 'schemas', f'streams.app')  # from schemas import event", known)
    "preload = ('assay.streams.app', 'schemas', f'streams.app')  # from schemas import event"
    >>> below_one_name("import json, streams.app", known)
    Traceback (most recent call last):
    ValueError: import json, streams.app: write "from … import …"
    """
    source = _FROM.sub(rf"\1from {BELOW}.", _WHOLE.sub(rf"\1from {BELOW} import \2", source))
    if other := _OTHER.search(source):
        raise ValueError(f'{other[0].strip()}: write "from … import …"')
    return _TEXT.sub(lambda found: f"{found[1]}{BELOW}.{found[2]}" if found[2] in modules else found[0], source)


def modules_of(root: Path) -> frozenset[str]:
    """The dotted names of the modules below the packages of the repository."""
    files = [file.relative_to(root) for package in PACKAGES for file in (root / package).rglob("*.py")]
    return frozenset(".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files) - set(PACKAGES)
