"""How much an address is worth before its page is read: source tier, base points and what kind of place it is.

A host and, where the crawler knows it, the publisher's name go in; a ``Source`` comes out. The page's own words are no
argument here: nothing that a page says of itself can raise its tier (C-42). Standard library only (R-178).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRules:
    """Who is in which tier.

    Attributes:
        entries: For tiers 1 to 3, domains (with a dot) and publisher names (without).
        base_scores: Base points for tiers 1 to 3.
        government_suffixes: Endings of government hosts anywhere; ``gov.*`` means gov under any country's domain where
            nobody can register that name.
        academic_suffixes: Endings of academic hosts anywhere, written alike.
        academic_domains: Domains that are academic though no suffix says so.
    """

    entries: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    base_scores: tuple[int, int, int]
    government_suffixes: tuple[str, ...]
    academic_suffixes: tuple[str, ...]
    academic_domains: tuple[str, ...]
    _tier_by_entry: dict[str, int] = field(init=False, repr=False, compare=False)
    _government: frozenset[str] = field(init=False, repr=False, compare=False)
    _academic: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tiers = {_normal(entry): tier for tier in (3, 2, 1) for entry in self.entries[tier - 1]}
        object.__setattr__(self, "_tier_by_entry", tiers)
        object.__setattr__(self, "_government", _normal_set(self.government_suffixes))
        object.__setattr__(self, "_academic", _normal_set((*self.academic_suffixes, *self.academic_domains)))


@dataclass(frozen=True, slots=True)
class Source:
    """What an address is worth, and why."""

    tier: int
    base_score: int
    tags: tuple[str, ...]
    is_academic: bool
    is_government: bool
    because: str


def source_of(host: str, registered: str, publisher: str | None, own_name: str, rules: SourceRules) -> Source:
    """The tier of a source (R-171): listed domains first, then a listed publisher, then generic suffixes, else 3.

    Domains match by whole labels, the longest entry first, so a blog host below a newspaper's domain can have a tier
    of its own.

    Args:
        host: Lower-case host name, "" where the address has none.
        registered: The domain that somebody registered and the host belongs to; "" where it belongs to none. ``gov.uk``
            is the United Kingdom's, but ``edu.cc`` is whose it is: the first is above what is registered, the second
            is registered itself, and so no generic suffix.
        publisher: The publisher's name as the crawler gave it.
        own_name: The name the page gives itself; it counts on a government host only.
        rules: Who is in which tier.
    """
    suffixes = _suffixes(host)
    forms = frozenset(_forms(suffixes, registered))
    government = not rules._government.isdisjoint(forms)
    academic = not rules._academic.isdisjoint(forms)
    entry = next((suffix for suffix in suffixes if "." in suffix and suffix in rules._tier_by_entry), None)
    name = _normal(publisher or (own_name if government else ""))
    if entry is not None:
        tier, because = rules._tier_by_entry[entry], f"{host} is listed as {entry}"
    elif name and "." not in name and name in rules._tier_by_entry:
        tier, because = rules._tier_by_entry[name], f"the publisher {name} is listed"
    elif government or academic:
        tier, because = 1, f"{host} is {'a government' if government else 'an academic'} host"
    else:
        tier, because = 3, f"{host or 'the address'} is not listed"
    tags = [tag for tag, holds in (("government", government), ("academic", academic)) if holds]
    if entry is not None and tier > 1:
        tags.append("news" if tier == 2 else "blog")
    return Source(tier, rules.base_scores[tier - 1], tuple(tags), academic, government, because)


def _suffixes(host: str) -> tuple[str, ...]:
    """The host and its parent domains, longest first. Names have at most 127 labels; longer ones match nothing."""
    labels = host.lower().strip(".").split(".")
    if len(labels) > 127:
        return ()
    return tuple(".".join(labels[start:]) for start in range(len(labels)))


def _forms(suffixes: tuple[str, ...], registered: str) -> Iterable[str]:
    for suffix in suffixes:
        yield suffix
        head, _, last = suffix.rpartition(".")
        # A two-letter last label is a country's domain: gov.* holds for gov.uk and gov.br alike.
        if len(last) == 2 and head and (not registered or len(suffix) < len(registered)):
            yield f"{head}.*"


def _normal(entry: str) -> str:
    return entry.strip().strip(".").casefold()


def _normal_set(entries: Iterable[str]) -> frozenset[str]:
    return frozenset(map(_normal, entries))
