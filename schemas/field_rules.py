"""Rules between the fields of an event, as JSON Schema for readers in other languages.

Pydantic does not derive them: the validators of the events enforce the same rules.
"""

from __future__ import annotations

from typing import Any

Shape = dict[str, Any]
NULL: Shape = {"type": "null"}


def exactly_one(other: dict[str, Shape] | None = None, /, **shapes: Shape) -> Shape:
    """One field of these has such a value, and the others are null or absent; or the fields have the values of a case.

    >>> exactly_one(html={"type": "string"})
    {'oneOf': [{'required': ['html'], 'properties': {'html': {'type': 'string'}}}]}
    """
    cases = [_given(name, shape) for name, shape in shapes.items()]
    return {"oneOf": [*cases, *(one_case(other)["oneOf"] if other else ())]}


def at_least_one(**shapes: Shape) -> Shape:
    """One or more fields of these have such a value."""
    return {"anyOf": [_given(name, shape) for name, shape in shapes.items()]}


def one_case(*cases: dict[str, Shape]) -> Shape:
    """The fields have the values of one of the cases; a field that may be null may also be absent.

    >>> one_case({"outcome": {"const": "failed"}, "snippet": NULL})["oneOf"][0]["required"]
    ['outcome']
    """
    return {
        "oneOf": [
            {"required": [name for name, shape in case.items() if shape != NULL], "properties": case} for case in cases
        ]
    }


def _given(name: str, shape: Shape) -> Shape:
    return {"required": [name], "properties": {name: shape}}
