"""Finds idioms that hide the actor or the meaning of a sentence: ``python -m tools.idioms [PATH…]``.

It reads the comments and texts of Python files, the comments of YAML files, and Markdown. It exits with status 1 if it
found an idiom. Without a path it reads every file of the repository that it knows.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

_ADVICE = {
    r"\b(?:no|some)body\b|\bwho(?:so)?ever\b|\bwhat is none\b": "name the actor or the thing",
    r"(?:^|[.:;] )Who\b(?!.*\?)": "name the actor",
    r"\bIn (?:go|goes|come|comes)\b(?! to)|\b[Oo]ut comes?\b": "state what is passed and what is returned",
    r"\bstands?\b(?!-)": 'write "is", "is in" or "means"',
    r"\brests\b|\bresting\b|\b(?:is|are|be|been) (?:left|let) alone\b": 'write "pauses", "is paused" or "is unchanged"',
    r"\btells? of\b|\btold of\b|\b(?:is|are) told\b": 'write "states", "lists", "gets" or "is notified"',
    r"\bthere (?:is|are) none\b|\b(?:is|are) none\b": "say which thing is missing",
    r"\bin vain\b|\bof its own accord\b|\bheld against\b|\bis no news\b": "say what happens",
}
_IDIOMS = [(re.compile(pattern), advice) for pattern, advice in _ADVICE.items()]
_READ = ("*.py", "*.md", "config/*.yaml", "Makefile")
_NOT_READ = {"CHANGELOG.md", "tools/idioms.py", "tools/test_idioms.py"}
"""History, and the two files that list the idioms."""


def idioms_in(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    """The line number, the idiom and the advice for each idiom in a file's prose."""
    for number, line in _prose_of(name, text):
        for idiom, advice in _IDIOMS:
            if found := idiom.search(line):
                yield number, found[0].strip(" .:;"), advice


def _prose_of(name: str, text: str) -> Iterator[tuple[int, str]]:
    if name.endswith(".py"):
        parts = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in parts:
                for number, line in enumerate(token.string.splitlines(), start=token.start[0]):
                    yield number, line.strip(" #\"'")
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            yield number, line if name.endswith(".md") else line.partition("#")[2].strip()


def _tracked() -> list[str]:
    return subprocess.run(["git", "ls-files", *_READ], check=True, capture_output=True, text=True).stdout.splitlines()


def main(paths: list[str]) -> int:
    """Prints each idiom with its place, and returns how many files have one."""
    files = [
        file for path in paths for file in sorted(Path(path).rglob("*.py") if Path(path).is_dir() else [Path(path)])
    ]
    files = files or [Path(name) for name in _tracked() if name not in _NOT_READ]
    found = {file: list(idioms_in(file.name, file.read_text("utf-8"))) for file in files}
    for file, idioms in found.items():
        for number, idiom, advice in idioms:
            print(f'{file}:{number}: "{idiom}": {advice}')
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
