"""Lines that a host repeats on its pages, as ``assay learn boilerplate`` finds them, and content without them.

The configuration holds a hash of each line and not its text. Without it every content stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Literal, Self

from pydantic import Field, model_validator

from schemas.pages import LeftOut
from schemas.rules import Section

_DIGEST_BYTES = 6
_DIGITS = 2 * _DIGEST_BYTES
_MOST = 0.5
"""Of a page's characters; a page with more of them, such as the terms of delivery, is the one that they belong to."""
_EXCERPT = 200


class Boilerplate(Section):
    """The lines of ``boilerplate.json``. The version represents them in the rules' hash and where rules are shown."""

    format: Literal[1] = Field(default=1, description="Of the file.")
    version: str = Field(default="", pattern="^([0-9a-f]{12})?$", description="Hash of the lines; empty without any.")
    pages: int = Field(default=0, ge=0, description="Pages that they were learnt from.")
    min_pages: int = Field(default=0, ge=0, description="Different pages that a host needed.")
    share: float = Field(default=0.0, ge=0, le=1, description="Share of a host's pages that a line was on.")
    hosts: dict[str, str] = Field(
        default={}, exclude=True, repr=False, description="Hashes of the lines of each host, one after another."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.version != version_of(self.hosts):
            raise ValueError("the lines are not those of the version; learn them again: `assay learn boilerplate`")
        return self

    def count_of(self, host: str) -> int:
        """How many lines of a host there are."""
        return len(self.hosts.get(host, "")) // _DIGITS

    def without(self, text: str, host: str) -> tuple[str, tuple[LeftOut, ...]]:
        """A text of one line each without the repeated lines of a host, and what was left out of it."""
        known = self.hosts.get(host)
        if not known:
            return text, ()
        repeated = frozenset(unpacked(known))
        kept: list[str] = []
        left: list[str] = []
        for line in text.split("\n"):
            (left if digest_of(line) in repeated else kept).append(line)
        characters = sum(map(len, left))
        if not left or characters > _MOST * len(text):
            return text, ()
        excerpt = " … ".join(left)[:_EXCERPT]
        left_out = LeftOut(reason="boilerplate", lines=len(left), characters=characters, excerpt=excerpt)
        return "\n".join(kept), (left_out,)


def digest_of(line: str) -> str:
    """The hash of a line, the same in any case and spacing.

    >>> digest_of("All rights  reserved") == digest_of("ALL RIGHTS RESERVED ")
    True
    """
    return blake2b(" ".join(line.casefold().split()).encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()


def packed(digests: Iterable[str]) -> str:
    """The lines of a host as ``Boilerplate.hosts`` has them."""
    return "".join(sorted(digests))


def unpacked(lines: str) -> Iterator[str]:
    """The hashes of such lines."""
    return (lines[at : at + _DIGITS] for at in range(0, len(lines), _DIGITS))


def version_of(hosts: Mapping[str, str]) -> str:
    """The hash of all lines; "" without any."""
    content = json.dumps(dict(hosts), sort_keys=True).encode()
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest() if hosts else ""
