"""The configuration of a handler's decisions, and its version, which is part of every decision.

A handler's rules are a view on the configuration document: each field of a ``Rules`` model is one of the document's
top-level sections. Rules are frozen and have a hash of their content, so a decision can name the rules that it used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _blank_is_none(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


OptionalPath = Annotated[Path | None, BeforeValidator(_blank_is_none)]
"""An optional path. An environment variable can only be empty, and ``Path("")`` would be the current folder."""


class Section(BaseModel):
    """One part of the configuration: frozen, and an unknown key is an error that names it."""

    # Built with the document that holds it: a section is hardly ever read by itself.
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False, defer_build=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy that computes its cached properties, such as its version, from its own values."""
        copied = super().model_copy(update=update, deep=deep)
        for cached in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[cached]
        return copied

    def __getstate__(self) -> dict[Any, Any]:
        """Without cached properties: compiled words cannot be sent to another process."""
        state = super().__getstate__()
        fields = type(self).model_fields
        return state | {"__dict__": {name: value for name, value in state["__dict__"].items() if name in fields}}


class Rules(Section):
    """All configuration that one handler's decisions depend on. Its fields are top-level sections of the document."""

    @cached_property
    def config_version(self) -> str:
        """Twelve hexadecimal digits over the rules' content; two equal configurations have the same version."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:12]
