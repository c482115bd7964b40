"""Texts of strangers that a terminal may show. What would steer it is replaced for people, and escaped in JSON."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import regex

_JOINER = r"(?<=[\p{Lo}\p{M}\p{So}\p{Sk}])[\u200c\u200d](?=[\p{Lo}\p{M}\p{So}\p{Sm}])"
"""A joiner within a word of Persian or of an Indic script, or within an emoji: there it changes how they look."""
_BLANK = r"\u034f\u115f\u1160\u2800\u3164\uffa0\U000e0100-\U000e01ef"
"""Characters that count as printable and show nothing; the last can carry a text that no reader sees."""


@cache
def unshown() -> regex.Pattern[str]:
    """Finds each control, format, private or blank character and lone surrogate, but no joiner that belongs there."""
    import regex  # takes longer than most commands need without it

    return regex.compile(rf"(?!{_JOINER})[\p{{C}}\p{{Zl}}\p{{Zp}}{_BLANK}]")


def printable(text: str, most: int | None = None, *, keep: str = "") -> str:
    """A text, or its first ``most`` characters, with U+FFFD for each character that steers a terminal or is invisible.

    >>> printable("a" + chr(27) + "[31mb" + chr(0x202E)), printable("abcd", 2)
    ('a�[31mb�', 'ab…')
    >>> printable("x" + chr(0x200D) + "y 👩" + chr(0x200D) + "🚀") == "x�y 👩" + chr(0x200D) + "🚀"
    True
    """
    shown = text[:most]
    if not (shown.isascii() and shown.isprintable()):
        shown = unshown().sub(lambda found: found[0] if found[0] in keep else "\ufffd", shown)
    return shown + ("…" if most is not None and len(text) > most else "")


def dumped(value: Any, *, ensure_ascii: bool = False, **options: Any) -> str:
    """JSON that keeps its meaning on any output; see ``escaped``."""
    return escaped(json.dumps(value, ensure_ascii=ensure_ascii, **options))


def escaped(document: str) -> str:
    r"""JSON with an escape for each character that ``printable`` does not show.

    >>> escaped('"a' + chr(0x9B) + chr(0x202E) + chr(0xE0041) + '"')
    '"a\\u009b\\u202e\\udb40\\udc41"'
    """
    if document.isascii() and document.isprintable():
        return document
    return str(unshown().sub(_escape, document))


def _escape(found: regex.Match[str]) -> str:
    sign = found[0]
    # Outside of its texts, a document has line breaks only. For JSON alone, U+007F needs no escape.
    return sign if sign == "\n" else "\\u007f" if sign == "\x7f" else json.dumps(sign)[1:-1]
