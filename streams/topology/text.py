"""How generated files are written: a notice, readable YAML and JSON, and docstrings as data."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

IN_YAML = "# Written by `assay generate`.\n"
_NUMBERS = r"[RC]-\d{2,3}(?:(?:, | to | and )[RC]-\d{2,3})*"
_REFERENCES = re.compile(rf" \({_NUMBERS}\)|, {_NUMBERS}(?=\))| (?:of|as in) {_NUMBERS}| Sources: {_NUMBERS}\.")
_DUMPER: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def without_references(text: str) -> str:
    """Removes the numbers of requirements and cases, which mean nothing outside the code.

    >>> without_references("Bands (R-151, C-26). Its own claim (never counted, C-42). Sources: R-020 to R-043.")
    'Bands. Its own claim (never counted).'
    """
    return _REFERENCES.sub("", text)


def to_yaml(content: Any) -> str:
    """A YAML document with the notice, keys in the order given, text of several lines as a block."""
    return IN_YAML + yaml.dump(content, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=120)


def to_yaml_stream(contents: Iterable[Any]) -> str:
    """Several YAML documents, as ``to_yaml``."""
    return IN_YAML + "---\n".join(to_yaml(content).removeprefix(IN_YAML) for content in contents)


def to_json(content: Any) -> str:
    """A JSON document, keys in the order given. It has no place for a notice."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def to_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, without the end of its last line."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines])


class _Readable(_DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is the library's
        """No anchors: they would name objects of this program."""
        return True


def _text(dumper: Any, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Readable.add_representer(str, _text)


_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n     .*)*)", re.MULTILINE)


def prose(documented: object) -> str:
    """The description without sections and doctests, paragraphs one line each, in Markdown's spelling of code.

    >>> def f():
    ...     '''Says ``a``
    ...     and b.
    ...
    ...     Args:
    ...         none: At all.
    ...     '''
    >>> prose(f)
    'Says `a` and b.'
    """
    return paragraphs(inspect.getdoc(documented) or "")


def paragraphs(text: str) -> str:
    """The same for a text that is at hand."""
    kept: list[str] = []
    for line in text.splitlines():
        if _SECTION.match(line) or line.startswith(">>>"):
            break
        kept.append(line)
    blocks = "\n".join(kept).strip().split("\n\n")
    return "\n\n".join(_joined(block) for block in blocks).replace("``", "`")


def attributes(text: str) -> dict[str, str]:
    r"""The entries of a Google style Attributes section by name, each as one line.

    >>> attributes("A page.\n\nAttributes:\n    url: Where it\n        is.\n    html: What it is.")
    {'url': 'Where it is.', 'html': 'What it is.'}
    """
    section = _SECTION.split(f"\n{text}".partition("\nAttributes:\n")[2])[0]
    return {name: " ".join(meaning.split()).replace("``", "`") for name, meaning in _ENTRY.findall(section)}


def _joined(block: str) -> str:
    """A paragraph as one line; a list keeps its lines."""
    lines = block.splitlines()
    if any(re.match(r"\s*([-*]|\d+\.) ", line) for line in lines):
        return block
    return " ".join(line.strip() for line in lines)
