"""Prints the regular expressions that Assay compiles, one JSON object a line.

It runs as a program (``python -m tests.contract.compiled_expressions``), because it hooks ``re`` and ``regex`` before
it imports the first module. It imports all modules, lets the handlers decide on the golden examples, and calls the
functions that compile an expression when it is first needed. A call of them with a computed pattern that was not
reached is printed without its pattern.
"""

import ast
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import regex._main

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "handlers", "streams")
_STARTS_AN_APPLICATION = ("streams.app",)
_TAKES_A_PATTERN = re.compile(r"(?:re|regex)\.(?:compile|search|match|fullmatch|split|findall|finditer|subn?)")

Place = tuple[str, int]
"""A file of ours and a line in it."""


def main() -> None:
    """Prints everything."""
    found: dict[Place, dict[tuple[str | bytes, int], None]] = {}
    _record_into(found)
    _import_all()
    _decide_all()
    _call_cached()
    for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for name, call in _calls(ast.parse(path.read_text("utf-8"))):
            lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
            here = [each for line in lines for each in found.get((str(path), line), ())]
            if (
                not here
                and isinstance(literal := call.args[0], ast.Constant)
                and isinstance(literal.value, str | bytes)
            ):
                here = [(literal.value, 0)]
            place = f"{path.relative_to(ROOT)}:{name}"
            if not here:
                print(json.dumps({"place": place}))
            for pattern, flags in here:
                text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
                is_bytes = isinstance(pattern, bytes)
                print(json.dumps({"place": place, "pattern": text, "flags": flags, "bytes": is_bytes}))


def _record_into(found: dict[Place, dict[tuple[str | bytes, int], None]]) -> None:
    """From now on, keeps each expression under the place that gave it to ``re``."""

    def hook(library: Any) -> None:
        compile_: Callable[..., re.Pattern[Any]] = library._compile

        def recorded(pattern: Any, *rest: Any) -> re.Pattern[Any]:
            compiled = compile_(pattern, *rest)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename == library.__file__:
                frame = frame.f_back
            if frame is not None:
                place = frame.f_code.co_filename, frame.f_lineno
                found.setdefault(place, {})[compiled.pattern, compiled.flags] = None
            return compiled

        library._compile = recorded

    hook(re)
    hook(regex._main)


def _import_all() -> None:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if found.name not in _STARTS_AN_APPLICATION:
                import_module(found.name)


def _decide_all() -> None:
    """Lets every handler decide on its golden examples: rules compile what is configured when they are first used."""
    from streams.topology import HANDLERS
    from tests.contract.worlds import broken, decide, generous
    from tests.rules import shipped_rules

    for handler in HANDLERS:
        rules = shipped_rules(handler.rules)
        for path in sorted((ROOT / "schemas" / "examples" / handler.consumes.name).glob("*.json")):
            event = handler.consumes.event.model_validate_json(path.read_bytes())
            for services in (generous, broken):
                decide(handler, event, rules, services)


def _call_cached() -> None:
    """Calls the cached functions without parameters, which is how expressions are compiled late."""
    for module in [module for name, module in sorted(sys.modules.items()) if name.startswith(PACKAGES)]:
        for function in vars(module).values():
            if hasattr(function, "cache_parameters") and not inspect.signature(function).parameters:
                function()


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The calls that take an expression, each with the name of what it is assigned to or in."""

    def within(node: ast.AST, name: str) -> Iterator[tuple[str, ast.Call]]:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}".lstrip(".")
            elif isinstance(child, ast.Assign) and not name:
                inner = ast.unparse(child.targets[0])
            if isinstance(child, ast.Call) and _TAKES_A_PATTERN.fullmatch(ast.unparse(child.func)):
                yield inner, child
            yield from within(child, inner)

    return within(tree, "")


if __name__ == "__main__":
    main()
