"""``docs/requirements.md`` lists each requirement that the code or a test names, with tests that exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (R-\d{3}) \| (.+) \| (`.+`) \|$", re.MULTILINE)
ROWS = {
    number: re.findall(r"`([^`]+)`", tests)
    for number, _, tests in ROW.findall((ROOT / "docs/requirements.md").read_text("utf-8"))
}
FOLDERS = ("config", "handlers", "schemas", "streams", "tests", "tools")


def _named(text: str) -> Iterator[str]:
    for first, last in re.findall(r"\bR-(\d{3})(?: to R-(\d{3}))?\b", text):
        yield from (f"R-{number:03}" for number in range(int(first), int(last or first) + 1))


def _files() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".py", ".yaml"} and path != Path(__file__):
                yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")


def test_each_named_requirement_is_listed() -> None:
    missing = {
        f"{name}: {number}"
        for name, text in _files()
        for number in re.findall(r"\bR-\d{3}\b", text)
        if number not in ROWS
    }
    assert missing == set()


def test_each_test_is_listed_with_the_requirements_that_it_names() -> None:
    missing = {
        f"{name}: {number}"
        for name, text in _files()
        for number in _named(text)
        if name.startswith("tests/") and number in ROWS
        if name.removeprefix("tests/") not in {test.partition("::")[0] for test in ROWS[number]}
    }
    assert missing == set()


def test_the_tests_of_each_requirement_exist() -> None:
    missing = []
    for number, tests in ROWS.items():
        for listed in tests:
            name, _, function = listed.partition("::")
            if not (ROOT / "tests" / name).is_file() or (function and function not in _functions(name)):
                missing.append(f"{number}: {listed}")
    assert missing == []


@cache
def _functions(name: str) -> set[str]:
    text = (ROOT / "tests" / name).read_text("utf-8")
    return {getattr(node, "name", "") for node in ast.walk(ast.parse(text))}


def test_each_listed_requirement_is_named_in_the_code() -> None:
    named = {number for _, text in _files() for number in _named(text)}
    assert set(ROWS) <= named
