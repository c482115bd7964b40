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
_LEAST_EDITED = 9
"""Characters of a name that looks like itself with any edit inside; shorter ones become another name."""
_EDITIONS = frozenset(("com", "net", "org"))
"""Suffixes besides those of countries below which owners register one name several times."""
_ALIKE = frozenset(map(frozenset, ("0o", "1l", "1i", "il", "3e", "4a", "5s", "7t", "8b", "9g", "gq", "uv")))
"""Signs that readers of a host take for each other."""


class ListedNames:
    """The names of listed domains: first labels of enough characters, each of a single body.

    ``bodies`` has the body of each domain. ``others`` are texts with a domain, and its name after a tab, in each line.
    A name that is in a domain or a name of another body is a word, a place or a family's name, and no body's own.
    """

    def __init__(self, bodies: Mapping[str, str], others: Iterable[str] = ()) -> None:
        self._bodies = bodies
        labels = ((domain.partition(".")[0], domain) for domain in bodies)
        self._domains = {name: domain for name, domain in labels if len(name) >= _LEAST}
        # A name and the same name with one edit share the first or the last half of the shortest name.
        self._near: dict[str, list[str]] = defaultdict(list)
        for name in self._domains:
            self._near[name[:_HALF]].append(name)
            self._near[f".{name[-_HALF:]}"].append(name)
        self._others = others
        self._is_own = lru_cache(maxsize=4096)(self._belongs_to_one)

    @cached_property
    def _lines(self) -> str:
        return "\n".join(("", *self._others, *map("\t".join, self._bodies.items()), "")).casefold()

    def like(self, host: str, public_labels: int, *, is_folded: bool = False) -> str | None:
        """The listed domain whose name is a whole part of a label of the host, or that its registered label resembles.

        The last labels of a host are its public suffix; the label before them is the one that was registered. The same
        label below a common suffix is mostly an edition of the source, unless the whole domain is in the host, or the
        host ``is_folded`` from letters that only look like these.
        """
        split = host.split(".")
        labels, suffix = split[:-public_labels], ".".join(("", *split[-public_labels:]))
        own = labels[-1]
        is_common = not is_folded and (len(split[-1]) == 2 or split[-1] in _EDITIONS)
        parts = (part for part in (*labels, *"-".join(labels).split("-")) if part in self._domains)
        found = [name for name in parts if name != own or not is_common or f"{self._domains[name]}." in host]
        near = (*self._near.get(own[:_HALF], ()), *self._near.get(f".{own[-_HALF:]}", ())) if len(own) >= _LEAST else ()
        found += (name for name in near if resembles(name, own, same_suffix=self._domains[name] == f"{name}{suffix}"))
        return next((self._domains[name] for name in found if self._is_own(name)), None)

    def _belongs_to_one(self, name: str) -> bool:
        domain, at = self._domains[name], 0
        while (at := self._lines.find(name, at)) >= 0:
            end = self._lines.index("\n", at)
            there, _, body = self._lines[self._lines.rindex("\n", 0, at) + 1 : end].partition("\t")
            if not f".{there}".endswith(f".{domain}") and body != self._bodies[domain].casefold():
                return False
            at = end
        return True


def resembles(name: str, other: str, *, same_suffix: bool) -> bool:
    """Whether another name is taken for a name: two neighbours swap, or one sign looks like another.

    Below the same suffix, a sign may also be repeated, and any sign inside of a long name changed, added or removed.

    >>> [resembles("reuters", other, same_suffix=False) for other in ("reuter5", "rueters", "reuterss", "routers")]
    [True, True, False, False]
    >>> [resembles("bloomberg", other, same_suffix=True) for other in ("blomberg", "bloomburg", "aloomberg")]
    [True, True, False]
    """
    if name == other:
        return False
    start = next((at for at, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    one, two = name[start:], other[start:]
    is_changed, longer = one[1:] == two[1:], max(name, other, key=len)
    if two[1:2] + two[:1] + two[2:] == one or (is_changed and frozenset((one[:1], two[:1])) in _ALIKE):
        return True
    if not same_suffix or not (is_changed or one[1:] == two or one == two[1:]):
        return False
    return longer[start - 1 : start] == longer[start] or (len(name) >= _LEAST_EDITED and 0 < start < len(longer) - 1)
