"""Compares the size of each package with its maximum in ``size.toml``; ``make check`` runs it.

All text files that git tracks count: lines of Python, and lines of the rest. Below ``docs`` words are counted too. What
``assay generate`` writes does not count, nor do the weights and copies listed in ``size.toml``. ``--lower`` writes
today's size where it is below the maximum; no option raises one, so a larger package is a change of ``size.toml`` that
a reviewer sees.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from streams.generate.outputs import generate

FILE = Path("size.toml")
LINE_LENGTH = 120
Sizes = dict[str, list[int]]
"""By package: lines of Python, and lines of other text."""


def main() -> int:
    """Returns 1 if a package is larger than its maximum or has none, or lines may be longer than before."""
    parser = argparse.ArgumentParser(prog="python -m tools.sizes", description=__doc__.splitlines()[0])
    parser.add_argument("--lower", action="store_true", help="write today's sizes where they are below the maxima")
    options = parser.parse_args()
    settings = tomllib.loads(FILE.read_text("utf-8"))
    maxima: Sizes = settings["packages"] | {"docs words": [0, settings["docs_words"]]}
    not_counted = [*settings["not_counted"], *map(str, generate(Path()))]
    tracked = subprocess.check_output(["git", "ls-files"], text=True).splitlines()
    now = sizes(Path(), tracked, not_counted)
    problems = larger(now, maxima)
    if f"line-length = {LINE_LENGTH}\n" not in Path("pyproject.toml").read_text("utf-8"):
        problems.append(f"pyproject.toml: the line length is {LINE_LENGTH}, so that lines of code can be compared")
    print("\n".join(problems) or f"{sum(python for python, _ in now.values()):,} lines of Python are within the budget")
    if options.lower:
        FILE.write_text(lowered(FILE.read_text("utf-8"), now), "utf-8")
    return 1 if problems else 0


def sizes(root: Path, names: list[str], not_counted: list[str]) -> Sizes:
    """The sizes of the packages of these files, without those that match a pattern."""
    found: Sizes = defaultdict(lambda: [0, 0])
    for name in names:
        if not (root / name).is_file() or any(fnmatch(name, pattern) for pattern in not_counted):
            continue
        try:
            text = (root / name).read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found[package_of(Path(name))][not name.endswith(".py")] += text.count("\n")
    documents = [root / name for name in names if fnmatch(name, "docs/*.md") and (root / name).is_file()]
    found["docs words"][1] = sum(len(path.read_text("utf-8").split()) for path in documents)
    return dict(found)


def package_of(path: Path) -> str:
    """The package of a file: a folder below streams, tools and tests, else the first folder.

    >>> package_of(Path("streams/kafka/clients.py")), package_of(Path("handlers/html/walk.py"))
    ('streams/kafka', 'handlers')
    >>> package_of(Path("tests/streams/kafka/test_topics.py")), package_of(Path("README.md"))
    ('tests/streams', 'root')
    """
    deep = path.parts[0] in ("streams", "tools", "tests") and len(path.parts) > 2
    return "/".join(path.parts[: 2 if deep else 1]) if len(path.parts) > 1 else "root"


def larger(now: Mapping[str, list[int]], maxima: Mapping[str, list[int]]) -> list[str]:
    """What is above its maximum, in words.

    >>> larger({"a": [11, 5]}, {"a": [10, 5]})
    ['a: 11 lines of Python, 10 at most: delete 1, or lower another package by more']
    >>> larger({"b": [1, 0]}, {"a": [10, 5]})
    ['b: it has no maximum in size.toml']
    """
    problems = []
    for package, counts in sorted(now.items()):
        if package not in maxima:
            problems.append(f"{package}: it has no maximum in size.toml")
            continue
        for count, most, kind in zip(counts, maxima[package], ("lines of Python", "lines or words"), strict=True):
            if count > most:
                advice = f"delete {count - most}, or lower another package by more"
                problems.append(f"{package}: {count:,} {kind}, {most:,} at most: {advice}")
    return problems


def lowered(text: str, now: Mapping[str, list[int]]) -> str:
    """The file with the maxima of today where those are lower; packages that are gone leave it."""

    def least(found: re.Match[str]) -> str:
        package, python, others = found.groups()
        sizes = now.get(package, [])
        return f'"{package}" = [{min(int(python), sizes[0])}, {min(int(others), sizes[1])}]\n' if sizes else ""

    text = re.sub(r'^"([^"\n]+)" = \[(\d+), (\d+)\]\n', least, text, flags=re.MULTILINE)
    words = now["docs words"][1]
    return re.sub(r"(?<=^docs_words = )\d+", lambda found: str(min(int(found[0]), words)), text, flags=re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
