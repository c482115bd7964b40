"""A sample of mutants over all handlers and streams, and which test finds each: a refactoring may not lose one.

``python -m tools.mutant_baseline --again`` makes each listed change in today's code, where its function and line still
exist, and runs the file of tests that found it, those named after its module, and tests that cover the line in a new
``.coverage``, if there is one. It fails if a mutant that was found survives, or if a test that finds one also fails
without a mutant. ``--draw COUNT`` writes the list anew; it needs a ``.coverage`` with the test of each line
(``pytest --cov=handlers --cov=streams --cov-context=test``). A mutant is named by its function and its line, so code
may move between modules. pytest collects the tests once, and a forked process for each mutant replaces the code of its
function: what a test starts as another program, and what a module does when it is imported, is not changed.
"""

import argparse
import ast
import contextlib
import gc
import json
import os
import random
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest
from coverage import CoverageData

LIST = Path("tools/mutant_baseline.jsonl")
_PER_FUNCTION = 2
_MOST_TESTS = 80
"""Test functions that are run on a mutant, the most specific first."""
_SECONDS = 60.0
"""A mutant whose run takes longer is found: it hangs."""
_SKIPPED = ("streams/cli/", "streams/demo/")
_SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
Lines = Mapping[str, Mapping[int, list[str]]]
"""For each module and line the test functions that run it."""


class Mutant(NamedTuple):
    """A changed line of a function; ``nth`` tells equal lines of it apart, ``test`` is the file that found it.

    If none did, ``reason`` says why, written by hand.
    """

    module: str
    function: str
    nth: int
    was: str
    becomes: str
    test: str = ""
    reason: str = ""


class Job(NamedTuple):
    """A mutant, the module that has its line today, and the tests to run; without a mutant the tests must pass."""

    mutant: Mutant | None
    path: Path
    tests: list[str]


def main() -> int:
    """Returns 0 unless a listed mutant that was found survives, or a test fails anyway."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutant_baseline", description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--draw", type=int, metavar="COUNT", help="draw a sample, run it, and write the list")
    action.add_argument("--again", action="store_true", help="run the listed mutants on today's code")
    parser.add_argument("--seed", default="43", help="of the sample")
    options = parser.parse_args()
    os.nice(10)
    covered = _covering() if options.draw or Path(".coverage").exists() else {}
    if options.draw:
        jobs = list(_drawn(covered, options.seed, options.draw))
        found = Runner(jobs).run()
        files = [Path(test.split("::")[0]).name for test in found]
        kept = [job.mutant._replace(test=file) for job, file in zip(jobs, files, strict=True) if job.mutant]
        LIST.write_text("".join(json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in kept), "utf-8")
        print(f"{len(kept) - found.count('')} of {len(kept)} are found")
        return _fail_anyway(found)
    known = [Mutant(**json.loads(line)) for line in LIST.read_text("utf-8").splitlines()]
    listed = [(mutant, _place(mutant)) for mutant in known]
    jobs = [Job(mutant, path, _tests_of(mutant, path, covered)) for mutant, path in listed if path and mutant.test]
    found = Runner(jobs).run()
    counts = Counter(
        "gone" if path is None else "survived before" for mutant, path in listed if not (path and mutant.test)
    )
    counts += Counter("found" if test else "lost" for test in found)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if counts["lost"] else _fail_anyway(found)


class Runner:
    """A plugin that, in place of a run of all tests, runs those of each job in a forked process."""

    def __init__(self, jobs: list[Job]) -> None:
        self._jobs = jobs
        self._found: list[str] = []
        self._told = -1
        self._items: dict[str, list[pytest.Item]] = defaultdict(list)
        self._functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

    def run(self) -> list[str]:
        """For each job the first test that fails or hangs; "" if all pass."""
        files = {test.split("::")[0] for job in self._jobs for test in job.tests if Path(test.split("::")[0]).exists()}
        options = ["-o", "addopts=", "-n", "0", "-p", "no:cacheprovider", "-p", "no:terminal"]
        pytest.main([*options, "-m", "not slow and not kafka", *sorted(files)], plugins=[self])
        return self._found

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Runs the jobs; the modules of all tests are imported."""
        for item in session.items:
            for name in (item.nodeid.split("::")[0], item.nodeid.split("[")[0]):
                self._items[name].append(item)
        gc.unfreeze()
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                code = one.__code__
                self._functions[code.co_filename, code.co_qualname, code.co_firstlineno].append(one)
        gc.freeze()
        for job in self._jobs:
            self._found.append(self._run(job))
            if job.mutant:
                verdict = self._found[-1] or "SURVIVED"
                print(f"{verdict}: {job.path}: {job.mutant.function}: {job.mutant.becomes}", flush=True)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Ends the forked process at the first failure."""
        if report.failed and self._told >= 0:
            os.write(self._told, b"\n!")
            os._exit(0)

    def _run(self, job: Job) -> str:
        told, tell = os.pipe()
        if not (pid := os.fork()):
            os.setpgid(0, 0)
            self._told = tell
            try:
                self._work(job)
            finally:
                os._exit(0)
        os.close(tell)
        said, end = b"", time.monotonic() + _SECONDS
        while select.select([told], [], [], max(0.0, end - time.monotonic()))[0] and (part := os.read(told, 65536)):
            said += part
        hangs = time.monotonic() >= end
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(told)
        *_, last, mark = [b"", *said.split(b"\n")]
        return (last if mark == b"!" else mark if hangs else b"").decode().split("[")[0]

    def _work(self, job: Job) -> None:
        """Replaces the code, and runs the tests; the name of each is written before it runs."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if job.mutant is not None:
            changed = _changed(job.path.read_text("utf-8"), job.mutant)
            for code in _codes(compile(changed, str(job.path.resolve()), "exec", dont_inherit=True)):
                for function in self._functions[code.co_filename, code.co_qualname, code.co_firstlineno]:
                    function.__code__ = code
        for item in dict.fromkeys(item for test in job.tests for item in self._items.get(test, ())):
            os.write(self._told, f"\n{item.nodeid}".encode())
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _fail_anyway(tests: Iterable[str]) -> int:
    """Returns 2 if one of these tests fails or does not exist: then its failures prove nothing about mutants."""
    failing = [test for test in Runner([Job(None, Path(), [test]) for test in sorted({*tests} - {""})]).run() if test]
    print(*(f"fails without a mutant: {test}" for test in failing), sep="\n")
    return 2 if failing else 0


def _drawn(covered: Lines, seed: str, count: int) -> Iterator[Job]:
    everything = [
        (mutant, covered[mutant.module][line])
        for path in sorted(covered)
        if path.endswith(".py") and not path.startswith(_SKIPPED)
        for mutant, line in mutants_of(Path(path))
        if line in covered[path]
    ]
    random.Random(seed).shuffle(everything)
    taken: Counter[tuple[str, str]] = Counter()
    for mutant, tests in everything:
        place = mutant.module, mutant.function
        if taken.total() < count and taken[place] < _PER_FUNCTION and _is_change(mutant):
            taken[place] += 1
            yield Job(mutant, Path(mutant.module), tests[:_MOST_TESTS])


def _is_change(mutant: Mutant) -> bool:
    with contextlib.suppress(SyntaxError):
        compile(_changed(Path(mutant.module).read_text("utf-8"), mutant), mutant.module, "exec")
        return mutant.was != mutant.becomes
    return False


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


def _number(source: str, mutant: Mutant) -> int:
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
    having = [path for path, lines in _code().items() if mutant.was in lines.get(mutant.function, ())]
    return min(having, key=lambda path: (path.as_posix() != mutant.module, path.stem != stem, path), default=None)


@cache
def _code() -> dict[Path, dict[str, list[str]]]:
    """The lines of each function, by module."""
    return {path: _lines(path) for package in ("handlers", "streams") for path in Path(package).rglob("*.py")}


def _lines(path: Path) -> dict[str, list[str]]:
    source = path.read_text("utf-8")
    lines = source.splitlines()
    functions = _functions(ast.parse(source))
    return {name: [line.strip() for line in lines[node.lineno - 1 : node.end_lineno]] for name, node in functions}


def _tests_of(mutant: Mutant, path: Path, covered: Lines) -> list[str]:
    """The files named as the one that found the mutant, or after its module, and covering tests."""
    names = (mutant.test, *(f"test_{name}.py" for name in (path.stem, path.parent.name, Path(mutant.module).stem)))
    files = [str(file) for name in names for file in sorted(Path("tests").rglob(name))]
    line = _number(path.read_text("utf-8"), mutant) + 1
    return [*dict.fromkeys([*files, *covered.get(path.as_posix(), {}).get(line, [])])]


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
