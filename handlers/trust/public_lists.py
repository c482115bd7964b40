"""Public lists of sources: what each list says of a domain, and what follows where lists agree or contradict.

A list is evidence with a name and a date. Standard library only (R-178).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

CONTESTED: Final = "contested"
"""The kind of sources that a list calls unreliable, fake, partisan or an imposter."""
DISPUTED: Final = "disputed"
"""The kind of sources without a clear rating; they count as unlisted."""
_DOMAIN_OF_A_LINE = re.compile(r"^[^\t\n]++", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PublicList:
    """A list: the kind of each of its values, and its domains, a group for each value.

    A line ``=value`` begins a group; a domain has a line, with its name after a tab where the list has one. A list that
    does not ``rates`` is a directory.
    """

    name: str
    title: str
    date: str
    kinds: Mapping[str, str]
    domains: str
    rates: bool = True

    @property
    def praised(self) -> str:
        """The lines of the domains that the list calls neither contested nor disputed."""
        groups = (group.partition("\n") for group in f"\n{self.domains}".split("\n=")[1:])
        return "\n".join(lines for said, _, lines in groups if self.kinds[said] not in (CONTESTED, DISPUTED))

    def look_up(self, domain: str) -> tuple[str, str] | None:
        """The value and the name of a domain; the list is read at the first look-up."""
        for value, lines, domains in read_groups(self.domains):
            if domain in domains:
                start = lines.find(begin := f"\n{domain}\t") + len(begin)
                return value, lines[start : lines.index("\n", start)] if start >= len(begin) else ""
        return None


@dataclass(frozen=True, slots=True)
class Rating:
    """What public lists say together of a domain.

    ``kind`` is ``contested``, ``disputed`` or that of a listed source; ``because`` names each value, list and date,
    ``lists`` the names of the lists.
    """

    domain: str
    kind: str
    because: str
    lists: tuple[str, ...]
    name: str = ""


def rating_of(domains: Iterable[str], lists: Iterable[PublicList], tiers: Mapping[str, int]) -> Rating | None:
    """The rating of the first of these domains that a list has; None if no list has any.

    Lists that contradict each other leave the domain disputed. Of several kinds, that of the best tier counts.
    """
    for domain in domains:
        found = [(one, *entry) for one in lists if (entry := one.look_up(domain))]
        if not found:
            continue
        # A directory says that a publisher exists, not what it is worth.
        found = [entry for entry in found if entry[0].rates] or found
        kinds = {one.kinds[value] for one, value, _ in found}
        praised = kinds - {CONTESTED, DISPUTED}
        because = "; ".join(f"{value.replace('_', ' ')} in {one.title}, {one.date}" for one, value, _ in found)
        if praised and len(praised) < len(kinds):
            because = f"{because}; the lists contradict each other"
            kind = DISPUTED
        elif praised:
            kind = min(praised, key=lambda name: (tiers[name], name))
        else:
            kind = min(kinds)  # contested before disputed
        name = next((name for one, value, name in found if name and one.kinds[value] == kind), "")
        return Rating(domain, kind, because, tuple(one.name for one, _, _ in found), name)
    return None


@lru_cache(maxsize=32)
def read_groups(domains: str) -> tuple[tuple[str, str, frozenset[str]], ...]:
    """Value, lines with names, and domains of each group, all read at once: there are many, and few are looked up."""
    groups = []
    for group in domains.split("\n="):
        said, _, lines = group.partition("\n")
        named = "\t" in lines
        found = _DOMAIN_OF_A_LINE.findall(lines) if named else lines.split("\n")
        groups.append((said.removeprefix("=").strip(), f"\n{lines}\n" if named else "", frozenset(found) - {""}))
    return tuple(groups)
