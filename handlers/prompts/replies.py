"""Strict readers of a model's reply, which must be one JSON object and nothing else.

A reply that has to be guessed at may have been steered by a page's author. Anything else is read as None: prose, code
fences, NaN, a repeated name, deep nesting, a wrong type, an unknown field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError


class StrictReply(BaseModel):
    """A reply, or a part of one, in which no value is converted and no unknown field is accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


_Reply = TypeVar("_Reply", bound=BaseModel)


def read_reply(kind: type[_Reply], text: str) -> _Reply | None:
    """The reply as its model; None if it is not in the protocol."""
    content = json_object(text)
    try:
        return None if content is None else kind.model_validate(content)
    except ValidationError:
        return None


@cache
def schema_of(kind: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON Schema of a reply in one piece, for servers with structured outputs.

    >>> class Number(StrictReply):
    ...     number: int
    >>> dict(schema_of(Number))["properties"]
    {'number': {'type': 'integer'}}
    """
    whole = kind.model_json_schema()
    return _flat(whole, whole.get("$defs", {}))


def _flat(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> Mapping[str, Any]:
    schema = parts[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if schema["type"] == "object":
        properties = {name: _flat(one, parts) for name, one in schema["properties"].items()}
        required = [*properties]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    if schema["type"] == "array":
        return {"type": "array", "items": _flat(schema["items"], parts)}
    if schema["type"] == "number":
        # Whole bounds: the journal's key of an answer contains the schema.
        return {"type": "number", "minimum": int(schema["minimum"]), "maximum": int(schema["maximum"])}
    # How many items there are, and which integers, is checked when the reply is read.
    return {name: schema[name] for name in ("type", "enum") if name in schema}


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
        raise ValueError("a name is repeated")
    return content


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
