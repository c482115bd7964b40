"""A sample of mutants over all handlers and streams, and which test finds each: a refactoring may not lose one.

``python -m tools.mutant_baseline --again`` makes each listed change in today's code, where its function and line still
exist, and runs the test that found it, then the tests named after its module. It fails if a mutant that was found
survives. ``--draw`` writes the list anew; it needs a ``.coverage`` with the test of each line
(``pytest --cov=handlers --cov=streams --cov-context=test``). A mutant is named by its function and its line, so code
may move between modules.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from coverage import CoverageData

LIST = Path("tools/mutant_baseline.jsonl")
SEED = 43
COUNT = 300
_PER_FUNCTION = 2
_MOST_TESTS = 80
"""Test functions that run on a mutant, the most specific first."""
_SECONDS = 120.0
"""A mutant that runs for longer is found: it hangs."""
_SKIPPED = ("streams/cli/", "streams/demo/", "streams/generate/dashboards/")
_SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed line of a function; ``nth`` tells equal lines of the function apart, ``test`` is what found it."""

    module: str
    function: str
    nth: int
    was: str
    becomes: str
    test: str = ""


def main() -> int:
    """Returns 0 unless a listed mutant that was found survives."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutant_baseline", description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--draw", action="store_true", help="draw a sample and run it; continues an unfinished list")
    action.add_argument("--again", action="store_true", help="run the listed mutants on today's code")
    parser.add_argument("--skip", action="append", default=[], metavar="PATH", help="with --draw: leave out a path")
    parser.add_argument("--without", default="", metavar="TEST", help="with --again: a test that does not run")
    parser.add_argument("--only", default="", metavar="FUNCTION", help="with --again: mutants of one function")
    options = parser.parse_args()
    os.nice(10)
    return draw(tuple(options.skip)) if options.draw else again(options.without, options.only)


def draw(skipped: tuple[str, ...]) -> int:
    """Draws the sample among the lines that a test covers, and writes each mutant with the test that found it."""
    covered = _covering()
    everything = [
        (mutant, covered[mutant.module][line])
        for path in sorted(covered)
        if path.endswith(".py") and not path.startswith((*_SKIPPED, *skipped))
        for mutant, line in mutants_of(Path(path))
        if line in covered[path]
    ]
    random.Random(SEED).shuffle(everything)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    chosen = []
    for mutant, tests in everything:
        taken[mutant.module, mutant.function] += 1
        if taken[mutant.module, mutant.function] <= _PER_FUNCTION:
            chosen.append((mutant, tests))
    done = len(LIST.read_text("utf-8").splitlines()) if LIST.exists() else 0
    with LIST.open("a", encoding="utf-8") as file:
        for mutant, tests in chosen[done:COUNT]:
            found = run(mutant, Path(mutant.module), tests)
            file.write(json.dumps(asdict(replace(mutant, test=found)), ensure_ascii=False) + "\n")
            file.flush()
            print(f"{found or 'SURVIVED'}: {mutant.function}: {mutant.becomes}", flush=True)
    return 0


def again(without: str, only: str) -> int:
    """Runs the listed mutants on today's code; prints each that survives, and the counts."""
    counts: dict[str, int] = defaultdict(int)
    lost = []
    for line in LIST.read_text("utf-8").splitlines():
        mutant = Mutant(**json.loads(line))
        if only and only != mutant.function:
            continue
        path = _place(mutant)
        if path is None:
            counts["gone"] += 1
        elif not mutant.test:
            counts["survived before"] += 1
        elif run(mutant, path, _tests_of(mutant, path), without):
            counts["found"] += 1
        else:
            counts["lost"] += 1
            lost.append(mutant)
            print(f"survives now: {path}: {mutant.function}: {mutant.was!r} became {mutant.becomes!r}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if lost else 0


def mutants_of(path: Path) -> Iterator[tuple[Mutant, int]]:
    """Each change of a function's code within one line, with its line number."""
    source = path.read_text("utf-8")
    lines = source.splitlines()
    for function, node in _functions(ast.parse(source)):
        for start, end, text in _edits(node, lines):
            line, at = start
            was = lines[line - 1]
            becomes = was[:at] + text + was[end[1] :]
            above = lines[node.lineno - 1 : line - 1]
            nth = sum(other.strip() == was.strip() for other in above)
            yield Mutant(path.as_posix(), function, nth, was.strip(), becomes.strip()), line


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node


_Edit = tuple[tuple[int, int], tuple[int, int], str]


def _edits(function: ast.AST, lines: list[str]) -> Iterator[_Edit]:
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _between(node.left, node.comparators[0], _SWAPS[type(node.ops[0])], lines)
        elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPS:
            yield from _between(node.left, node.right, _SWAPS[type(node.op)], lines)
        elif isinstance(node, ast.BoolOp):
            yield from _between(node.values[0], node.values[1], _SWAPS[type(node.op)], lines)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and node.lineno == node.end_lineno:
            yield (node.lineno, node.col_offset), (node.lineno, node.operand.col_offset), ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.end_col_offset:
            start, end = (node.lineno, node.col_offset), (node.lineno, node.end_col_offset)
            if not isinstance(node.value, bool):
                yield start, end, repr(node.value + 1)
        elif isinstance(node, ast.Return) and node.value and node.lineno == node.end_lineno and node.end_col_offset:
            yield (node.lineno, node.col_offset), (node.lineno, node.end_col_offset), "return None"


def _between(left: ast.expr, right: ast.expr, operator: str, lines: list[str]) -> Iterator[_Edit]:
    if left.end_lineno == right.lineno and left.end_col_offset is not None and lines[right.lineno - 1].isascii():
        gap = lines[right.lineno - 1][left.end_col_offset : right.col_offset]
        if "(" not in gap and ")" not in gap:
            yield (right.lineno, left.end_col_offset), (right.lineno, right.col_offset), f" {operator} "


def run(mutant: Mutant, path: Path, tests: Iterable[str], without: str = "") -> str:
    """Runs tests with the change until one fails; returns that test, or "" if all pass."""
    source = path.read_text("utf-8")
    path.write_text(_changed(source, mutant), "utf-8")
    begun = time.monotonic()
    quiet = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-m", "not slow and not kafka"]
    chosen = [test for test in tests if test != without]
    if not chosen:
        return ""
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", "pytest", *quiet, *chosen],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"{chosen[0]} (no end after {time.monotonic() - begun:.0f} s)"
    finally:
        path.write_text(source, "utf-8")
    if process.returncode == 0 or process.returncode == 5:
        return ""
    failed = [line.split(" ")[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0].split("[")[0] if failed else chosen[0]


def _changed(source: str, mutant: Mutant) -> str:
    lines = source.splitlines(keepends=True)
    [node] = [node for name, node in _functions(ast.parse(source)) if name == mutant.function][:1]
    numbers = [number for number in range(node.lineno - 1, node.end_lineno or 0) if lines[number].strip() == mutant.was]
    number = numbers[min(mutant.nth, len(numbers) - 1)]
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    lines[number] = f"{indent}{mutant.becomes}\n"
    return "".join(lines)


def _place(mutant: Mutant) -> Path | None:
    """The module that has the function with the line today: the same one, else one of the same name, else any."""
    stem = Path(mutant.module).stem
    candidates = sorted(_code(), key=lambda path: (path.as_posix() != mutant.module, path.stem != stem, path))
    for path in candidates:
        lines = _lines(path).get(mutant.function)
        if lines is not None and mutant.was in lines:
            return path
    return None


@cache
def _code() -> tuple[Path, ...]:
    return tuple(path for package in ("handlers", "streams") for path in Path(package).rglob("*.py"))


@cache
def _lines(path: Path) -> dict[str, list[str]]:
    source = path.read_text("utf-8")
    lines = source.splitlines()
    functions = _functions(ast.parse(source))
    return {name: [line.strip() for line in lines[node.lineno - 1 : node.end_lineno]] for name, node in functions}


def _tests_of(mutant: Mutant, path: Path) -> list[str]:
    """The test that found the mutant, wherever it is today, then the files of tests named after its module."""
    file, _, function = mutant.test.partition("::")
    found = [
        f"{test}::{function}".rstrip(":")
        for test in sorted(Path("tests").rglob(Path(file).name), key=lambda test: test.as_posix() != file)
        if not function or f"def {function.split(' ')[0].split('::')[-1]}(" in test.read_text("utf-8")
    ][:1]
    named = dict.fromkeys((path.stem, path.parent.name, Path(mutant.module).stem))
    files = [test.as_posix() for name in named for test in sorted(Path("tests").rglob(f"test_{name}.py"))]
    return [*found, *dict.fromkeys(files)]


def _covering() -> dict[str, dict[int, list[str]]]:
    """For each module and line the test functions that run it, those that run the fewest lines first."""
    data = CoverageData()
    data.read()
    root = Path.cwd()
    sizes: dict[str, int] = defaultdict(int)
    lines: dict[str, dict[int, set[str]]] = {}
    for measured in data.measured_files():
        path = Path(measured).relative_to(root).as_posix()
        lines[path] = defaultdict(set)
        for line, contexts in data.contexts_by_lineno(measured).items():
            for context in contexts:
                test = context.split("|")[0].split("[")[0]
                if test.startswith("tests/"):
                    lines[path][line].add(test)
                    sizes[test] += 1
    return {
        path: {
            line: [test for _, _, test in sorted((Path(path).stem not in test, sizes[test], test) for test in tests)][
                :_MOST_TESTS
            ]
            for line, tests in numbered.items()
            if tests
        }
        for path, numbered in lines.items()
    }


if __name__ == "__main__":
    sys.exit(main())
