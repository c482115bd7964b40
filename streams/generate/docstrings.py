"""Docstrings as data: the prose before the first section, and what the Attributes section says of each field."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples|Note):$")
_ENTRY = re.compile(r"^    (\w+): (.*)$")


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

    >>> attributes("A page.\n\nAttributes:\n    url: Where it\n        stands.\n    html: What it is.")
    {'url': 'Where it stands.', 'html': 'What it is.'}
    """
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in text.splitlines():
        if _SECTION.match(line):
            inside = line == "Attributes:"
        elif inside and (entry := _ENTRY.match(line)):
            name = entry.group(1)
            found[name] = entry.group(2).replace("``", "`")
        elif inside and name and line.startswith("     "):
            found[name] += " " + line.strip().replace("``", "`")
    return found


def _joined(block: str) -> str:
    """A paragraph as one line; a list keeps its lines."""
    lines = block.splitlines()
    if any(re.match(r"\s*([-*]|\d+\.) ", line) for line in lines):
        return block
    return " ".join(line.strip() for line in lines)
