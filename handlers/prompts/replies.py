"""A model's reply that should be one JSON object and nothing else.

In: text as it came. Out: the object, or None: for prose, code fences, NaN, a name said twice, nesting without end.
Strict on purpose, since a reply that must be guessed at is one that a page's author may have steered.
"""

from __future__ import annotations

import json
from typing import Any


def json_object(text: str) -> dict[str, Any] | None:
    """The one object that the text is.

    >>> json_object(' {"score": 0.5} ')
    {'score': 0.5}
    >>> json_object('{"score": 0.7} or {"score": 0.8}'), json_object('{"score": NaN}'), json_object('{"a": 1, "a": 2}')
    (None, None, None)
    """
    try:
        content = json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name stands there twice")
    return content


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
