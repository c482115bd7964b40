"""Fields of a decision as an operator names them, and the values that they may have.

In go an event's type and a path such as ``outcome`` or ``llm.judged_by``; out comes the path as the wire has it, or the
one line that says what there is instead. A value that no decision can have would choose nothing, and look like success.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from schemas.event import Event
from streams.replay.plan import ReplayError


def wire_path(event: type[Event], name: str, handler: str) -> str:
    """A field as the wire has it, whichever of its names was given.

    Raises:
        ReplayError: There is no such field.
    """
    first, dot, rest = name.partition(".")
    for known, its in event.model_fields.items():
        if first in (known, its.alias):
            return f"{its.alias or known}{dot}{rest}"
    fields = ", ".join(sorted(its.alias or known for known, its in event.model_fields.items()))
    raise ReplayError(f"decisions of {handler} have no field {first!r}; there are {fields}")


def check_values(event: type[Event], path: str, values: Iterable[str], option: str) -> None:
    """Refuses values that a field can't have.

    Args:
        event: Whose field.
        path: As the wire has it, parts with dots between them.
        values: As they were typed.
        option: Which option has them, for the message.

    Raises:
        ReplayError: One of them can't be, or there is no such field below the first.
    """
    allowed = _values_of(event, path.split("."), path)
    if allowed is None:
        return
    if wrong := sorted(set(values) - set(allowed)):
        raise ReplayError(f"{option} {wrong[0]!r} is no {path}; there are {', '.join(allowed)}")


def _values_of(kind: Any, path: list[str], whole: str) -> list[str] | None:
    """The values of a type at a path, in order; None where there is no end of them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _values_of(arguments[0], path, whole)
    if origin in (Union, UnionType):
        found: list[str] = []
        for one in arguments:
            some = ["null"] if one is NoneType else _values_of(one, path, whole)
            if some is None:
                return None
            found += some
        return list(dict.fromkeys(found))
    if origin in (tuple, list, frozenset):
        return _values_of(arguments[0], path, whole)
    if not path:
        return _of_leaf(kind, arguments if origin is Literal else None)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return None
    for known, its in kind.model_fields.items():
        if path[0] == (its.alias or known):
            return _values_of(its.annotation, path[1:], whole)
    fields = ", ".join(sorted(its.alias or known for known, its in kind.model_fields.items()))
    raise ReplayError(f"there is no field {path[0]!r} in {whole}; there are {fields}")


def _of_leaf(kind: Any, literals: tuple[Any, ...] | None) -> list[str] | None:
    if literals is not None:
        return [str(value) for value in literals]
    if kind is bool:
        return ["true", "false"]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return None
