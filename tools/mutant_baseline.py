"""A sample of mutants over all handlers and streams, and which test finds each: a refactoring may not lose one.

``python -m tools.mutant_baseline --again`` makes each listed change in today's code, where its function and line still
exist, and runs the test that found it, then the tests named after its module and those that cover the line in a new
``.coverage``, if there is one. It fails if a mutant that was found survives, or if a test that finds one also fails
without a mutant. ``--draw`` writes the list anew; it needs a ``.coverage`` with the test of each line
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
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from coverage import CoverageData

LIST = Path("tools/mutant_baseline.jsonl")
SEED = 43
COUNT = 300
_PER_FUNCTION = 2
_AT_ONCE = 80
"""Test functions of one run of pytest on a mutant, the most specific first."""
_SECONDS = 900.0
"""A mutant whose run takes longer is found: it hangs. Each test has the shorter limit of ``pyproject.toml``."""
_SKIPPED = ("streams/cli/", "streams/demo/")
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
    options = parser.parse_args()
    os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("interrupted"))  # so that the module is written back
    return draw() if options.draw else again()


def draw() -> int:
    """Draws the sample among the lines that a test covers, and writes each mutant with the test that found it."""
    covered = _covering()
    everything = [
        (mutant, covered[mutant.module][line])
        for path in sorted(covered)
        if path.endswith(".py") and not path.startswith(_SKIPPED)
        for mutant, line in mutants_of(Path(path))
        if line in covered[path]
    ]
    random.Random(SEED).shuffle(everything)
    taken: dict[tuple[str, str], int] = defaultdict(int)
    chosen: list[tuple[Mutant, list[str]]] = []
    for mutant, tests in everything:
        place = mutant.module, mutant.function
        if len(chosen) < COUNT and taken[place] < _PER_FUNCTION and _is_change(mutant):
            taken[place] += 1
            chosen.append((mutant, tests))
    done = len(LIST.read_text("utf-8").splitlines()) if LIST.exists() else 0
    with LIST.open("a", encoding="utf-8") as file:
        for mutant, tests in chosen[done:]:
            found = run(mutant, Path(mutant.module), tests)
            file.write(json.dumps(asdict(replace(mutant, test=found)), ensure_ascii=False) + "\n")
            file.flush()
            print(f"{found or 'SURVIVED'}: {mutant.function}: {mutant.becomes}", flush=True)
    return _fail_anyway({mutant.test for mutant in _listed()} - {""})


def again() -> int:
    """Runs the listed mutants on today's code; prints each that survives, and the counts."""
    counts: dict[str, int] = defaultdict(int)
    lost = []
    finders = set()
    covered = _covering() if Path(".coverage").exists() else {}
    for mutant in _listed():
        path = _place(mutant)
        if path is None:
            counts["gone"] += 1
        elif not mutant.test:
            counts["survived before"] += 1
        elif found := run(mutant, path, _tests_of(mutant, path, covered)):
            counts["found"] += 1
            finders.add(found)
        else:
            counts["lost"] += 1
            lost.append(mutant)
            print(f"survives now: {path}: {mutant.function}: {mutant.was!r} became {mutant.becomes!r}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if lost else _fail_anyway(finders)


def _listed() -> list[Mutant]:
    return [Mutant(**json.loads(line)) for line in LIST.read_text("utf-8").splitlines()]


def _is_change(mutant: Mutant) -> bool:
    try:
        ast.parse(_changed(Path(mutant.module).read_text("utf-8"), mutant))
    except SyntaxError:
        return False
    return mutant.was != mutant.becomes


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


def run(mutant: Mutant, path: Path, tests: Iterable[str]) -> str:
    """Runs tests with the change until one fails; returns that test, or "" if all pass."""
    source = path.read_text("utf-8")
    path.write_text(_changed(source, mutant), "utf-8")
    tests = list(tests)
    try:
        for start in range(0, len(tests), _AT_ONCE):
            chosen = tests[start : start + _AT_ONCE]
            if (output := _output_of_failure(chosen, "-x")) is not None:
                failed = [line.split(" ")[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
                return failed[0].split("[")[0] if failed else chosen[0]
    finally:
        path.write_text(source, "utf-8")
    return ""


def _fail_anyway(tests: Iterable[str]) -> int:
    """Returns 2 if one of these tests fails or does not exist: then its failures prove nothing about mutants."""
    ordered = sorted(tests)
    outputs = [_output_of_failure(ordered[at : at + _AT_ONCE]) for at in range(0, len(ordered), _AT_ONCE)]
    for output in filter(None, outputs):
        print("tests fail without a mutant:", output, sep="\n")
    return 2 if any(output is not None for output in outputs) else 0


def _output_of_failure(tests: list[str], *options: str) -> str | None:
    """What pytest prints if a test fails, or None if all pass or none is to run."""
    quiet = ["-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-m", "not slow and not kafka"]
    process = subprocess.Popen(
        [sys.executable, "-B", "-m", "pytest", *quiet, *options, *tests],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return f"no end after {_SECONDS:.0f} s"
        raise
    return None if process.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else output


def _number(source: str, mutant: Mutant) -> int:
    """The index of the mutant's line."""
    lines = source.splitlines()
    node = next(node for name, node in _functions(ast.parse(source)) if name == mutant.function)
    numbers = [number for number in range(node.lineno - 1, node.end_lineno or 0) if lines[number].strip() == mutant.was]
    return numbers[min(mutant.nth, len(numbers) - 1)]


def _changed(source: str, mutant: Mutant) -> str:
    lines = source.splitlines(keepends=True)
    number = _number(source, mutant)
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


def _tests_of(mutant: Mutant, path: Path, covered: Mapping[str, Mapping[int, list[str]]]) -> list[str]:
    """The test that found the mutant, wherever it is today, the files named after its module, and covering tests."""
    file, _, function = mutant.test.partition("::")
    found = [
        f"{test}::{function}".rstrip(":")
        for test in sorted(
            Path("tests").rglob("test_*.py" if function else Path(file).name),
            key=lambda test: (test.as_posix() != file, test.name != Path(file).name, test),
        )
        if not function or f"def {function.split('::')[-1]}(" in test.read_text("utf-8")
    ][:1]
    named = dict.fromkeys((path.stem, path.parent.name, Path(mutant.module).stem))
    files = [test.as_posix() for name in named for test in sorted(Path("tests").rglob(f"test_{name}.py"))]
    line = _number(path.read_text("utf-8"), mutant) + 1
    return [*dict.fromkeys([*found, *files, *covered.get(path.as_posix(), {}).get(line, [])])]


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
            line: [test for _, _, test in sorted((Path(path).stem not in test, sizes[test], test) for test in tests)]
            for line, tests in numbered.items()
            if tests
        }
        for path, numbered in lines.items()
    }


if __name__ == "__main__":
    sys.exit(main())
