"""``docs/requirements.md`` lists each requirement that the code or a test names, with tests that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^- (R-\d{3}): .+? ((?:`[\w/.]+`(?:, )?)+)$", re.MULTILINE)
ROWS = {
    number: re.findall(r"`([^`]+)`", tests)
    for number, tests in ROW.findall((ROOT / "docs/requirements.md").read_text("utf-8"))
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


def test_the_tests_of_each_requirement_exist() -> None:
    missing = {name for tests in ROWS.values() for name in tests if not (ROOT / "tests" / name).is_file()}
    assert missing == set()


def test_each_listed_requirement_is_named_in_the_code() -> None:
    named = {number for _, text in _files() for number in _named(text)}
    assert set(ROWS) <= named
