"""Finds idioms that hide the actor or the meaning of a sentence: ``python -m tools.idioms [PATH…]``.

It reads Markdown, and the comments of YAML files and the Makefile. In Python files it reads comments and texts. In
tests it reads comments, docstrings and the names of tests, because their other texts are data. It also finds
expressions that compiled code evaluates in another order, and pronouns as names in ``streams``. It exits with status 1
if it found one of these, or a test's name that is too long. Without a path it reads all files of the repository.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import yaml

_ADVICE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
_IDIOMS = [(re.compile(pattern), advice) for pattern, advice in _ADVICE.items()]
_IN_NAMES = [*_IDIOMS, (re.compile(r"\bwho\b"), "name the actor")]
"""A test's name is a statement, so a "who" in it is no question."""
_LONGEST_NAME = 60
_NO_NAMES = re.compile(
    "_*(its|one|some|each|rest|said|told|standing|begun|weighed|wish|home|spoiled|heir|bury|suspects)_*", re.IGNORECASE
)
"""A name is a noun, or a verb of the glossary; these say neither."""
_TEXTS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
_READ = ("*.py", "*.md", "config/*.yaml", "Makefile")
_NOT_READ = ("CHANGELOG.md",)
"""It is history."""


def idioms_in(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    """The line number, the idiom and the advice for each idiom in a file's prose."""
    names = _test_names(text) if _is_test(name) else []
    statements = ((number, test.replace("_", " ")) for number, test in names)
    for idioms, lines in ((_IDIOMS, _prose_of(name, text)), (_IN_NAMES, statements)):
        for number, line in lines:
            for idiom, advice in idioms:
                if found := idiom.search(line):
                    yield number, found[0].strip(" .:;"), advice
    for number, test in names:
        if len(test) > _LONGEST_NAME:
            yield number, test, f"a test's name has at most {_LONGEST_NAME} characters"
    if name.startswith("streams/") and name.endswith(".py") and not name.startswith("streams/console/"):
        yield from ((number, given, "name the thing or the action") for number, given in sorted(_given_names(text)))
    if name.endswith(".py"):
        advice = "assign before the expression: mypyc reads the name after the assignment"
        yield from ((number, f"{read} … ({read} :=", advice) for number, read in _read_before_assigned(text))


def _prose_of(name: str, text: str) -> Iterator[tuple[int, str]]:
    if name.endswith(".py"):
        docstrings = _docstring_lines(text) if _is_test(name) else None
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_text = token.type in _TEXTS and (docstrings is None or token.start[0] in docstrings)
            if is_text or token.type == tokenize.COMMENT:
                for number, line in enumerate(token.string.splitlines(), start=token.start[0]):
                    yield number, line.strip(" #\"'")
    else:
        for number, line in enumerate(text.splitlines(), start=1):
            yield number, line if name.endswith(".md") else line.partition("#")[2].strip()


def _read_before_assigned(text: str) -> Iterator[tuple[int, str]]:
    """Names that an expression reads as an operand, and assigns in a later operand."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.expr) or isinstance(node, ast.BoolOp | ast.IfExp | ast.NamedExpr):
            continue
        read: set[str] = set()
        for operand in ast.iter_child_nodes(node):
            inner = [part.target.id for part in ast.walk(operand) if isinstance(part, ast.NamedExpr)]
            yield from ((operand.lineno, name) for name in inner if name in read and isinstance(operand, ast.expr))
            if isinstance(operand, ast.Name):
                read.add(operand.id)


def _given_names(text: str) -> Iterator[tuple[int, str]]:
    """Names that a file gives to variables, arguments, functions and classes, and that are no nouns or verbs."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Name(id=given, ctx=ast.Store()) | ast.arg(arg=given)
                | ast.FunctionDef(name=given) | ast.AsyncFunctionDef(name=given) | ast.ClassDef(name=given)
            ) if _NO_NAMES.fullmatch(given):  # fmt: skip
                yield node.lineno, given


def _is_test(name: str) -> bool:
    path = Path(name)
    return path.suffix == ".py" and (path.parts[0] == "tests" or path.name.startswith("test_"))


def _test_names(text: str) -> list[tuple[int, str]]:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.lineno, node.name) for node in functions if node.name.startswith("test_")]


def _docstring_lines(text: str) -> set[int]:
    """The first line of each text that is a statement by itself."""
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    return {
        node.lineno for node in statements if isinstance(node.value, ast.Constant) and type(node.value.value) is str
    }


def _files(paths: list[str]) -> list[str]:
    """The tracked files below the paths, and files that are named themselves."""
    command = ["git", "ls-files", "--", *(paths or _READ)]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    read = [name for name in listed if any(fnmatch(name, pattern) for pattern in _READ)]
    return [name for name in read if not name.startswith(_NOT_READ)]


def main(paths: list[str]) -> int:
    found = 0
    for name in _files(paths):
        for number, idiom, advice in idioms_in(name, Path(name).read_text("utf-8")):
            print(f'{name}:{number}: "{idiom}": {advice}')
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
