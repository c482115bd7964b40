"""Hosts whose name looks like that of a listed source; they are unlisted, and their reason says so.

Standard library only (R-178).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

_LEAST = 6
"""Characters of a name that is looked for; shorter names are parts of many others."""
_HALF = _LEAST // 2


class ListedNames:
    """The names of listed domains: first labels of enough characters, each of a single body.

    ``bodies`` has the body of each domain. ``others`` are texts with a domain a line; a name that is a part of another
    domain in them is no body's own.
    """

    def __init__(self, bodies: Mapping[str, str], others: Iterable[str] = ()) -> None:
        owners: dict[str, str] = {}
        shared = set()
        domains = {}
        for domain, body in bodies.items():
            label = domain.partition(".")[0]
            domains[label] = domain
            for part in (label, *label.split("-")) if "-" in label else (label,):
                if owners.setdefault(part, body) != body:
                    shared.add(part)
        self._domains = {name: domain for name, domain in domains.items() if len(name) >= _LEAST and name not in shared}
        # A name and the same name with one edit share the first or the last half of the shortest name.
        self._near: dict[str, list[str]] = defaultdict(list)
        for name in self._domains:
            self._near[name[:_HALF]].append(name)
            self._near[f".{name[-_HALF:]}"].append(name)
        self._others = others
        self._is_own = lru_cache(maxsize=4096)(self._belongs_to_one)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return tuple(f"\n{text}" for text in self._others)

    def like(self, host: str, public_labels: int) -> str | None:
        """The listed domain whose name is a whole part of a label of the host, or differs from a label by one edit.

        The last labels of a host are its public suffix; the label before them is the one that was registered.
        """
        labels = host.split(".")[:-public_labels]
        own = labels[-1] if labels else ""
        parts = "-".join(labels).split("-")
        near = (*self._near.get(own[:_HALF], ()), *self._near.get(f".{own[-_HALF:]}", ())) if len(own) >= _LEAST else ()
        names = [
            *(part for part in (*labels, *parts) if part in self._domains),
            *(name for name in near if is_one_edit(name, own)),
        ]
        return next((self._domains[name] for name in names if self._is_own(name)), None)

    def _belongs_to_one(self, name: str) -> bool:
        domain = self._domains[name]
        for text in self._texts:
            there = sum(text.count(form) for form in (f"\n{name}.", f"\n{name}-", f"-{name}."))
            if there > sum(text.count(f"\n{domain}{end}") for end in "\n\t"):
                return False
        return True


def is_one_edit(one: str, other: str) -> bool:
    """Whether a text becomes the other if one character is changed, added or removed, or two neighbours swap.

    >>> [is_one_edit("reuters", other) for other in ("reuter5", "reuter", "rueters", "reuters", "rooters")]
    [True, True, True, False, False]
    """
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[start:], other[start:]
    swapped = one[1:2] + one[:1] + one[2:] == other and len(one) > 1
    return swapped or one[1:] == other[1:] or one[1:] == other or one == other[1:]
