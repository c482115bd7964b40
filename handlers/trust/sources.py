"""The trust of an address before its page is read: kind of source, tier, base points and tags.

The decision uses the address and the publisher that the crawler names. Nothing that a page states about itself raises
its tier (C-42). Standard library only (R-178).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

SELF_PUBLISHED: Final = "self_publishing"
"""The kind of pages that members publish below a host of another kind."""
_UNLISTED_TIER = 3
_TAGS_BY_TIER: Final[Mapping[int, tuple[str, ...]]] = {1: (), 2: ("news",), 3: ("blog",)}
"""Tags of a source whose entry has a tier and no kind."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: its tier, its tag in ``domain_tags`` ("" for none) and the reason for the tier."""

    tier: int
    tag: str
    reason: str


class ListedSource(NamedTuple):
    """The entry of a domain or of a publisher.

    Attributes:
        kind: A kind of source; None where the entry states a tier only.
        tier: The entry's own tier; None where the kind decides.
        reason: Why the source has that kind or tier; "" where the kind's reason holds.
        name: The body that the domain belongs to; "" where it is not given.
        country: Two letters, ``int``, or "" where it is not given.
        own: Whether the user wrote the entry; it takes precedence over shipped ones.
    """

    kind: str | None
    tier: int | None = None
    reason: str = ""
    name: str = ""
    country: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRules:
    """How an address gets its kind and its tier.

    Attributes:
        own: The user's entries by domain.
        listed: The shipped entries by domain.
        publishers: Entries by publisher's name, case-folded.
        suffixes: Kinds by suffix of a host. ``gov.*`` is gov under any country's domain that cannot be registered.
        kinds: Kinds by name; ``SELF_PUBLISHED`` is one of them.
        base_scores: Base points for tiers 1 to 3.
        member_labels: Labels of hosts below a listed domain where members publish, such as ``students``.
        member_segments: Segments of a path where members publish; one that ends in ``*`` holds for longer ones too.
        member_kinds: Kinds of sources to which the two rules on members apply.
    """

    own: Mapping[str, ListedSource]
    listed: Mapping[str, ListedSource]
    publishers: Mapping[str, ListedSource]
    suffixes: Mapping[str, str]
    kinds: Mapping[str, SourceKind]
    base_scores: tuple[int, int, int]
    member_labels: frozenset[str]
    member_segments: frozenset[str]
    member_kinds: frozenset[str]
    _segment_starts: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = tuple(segment[:-1] for segment in self.member_segments if segment.endswith("*"))
        object.__setattr__(self, "_segment_starts", starts)

    def entry_of(self, suffix: str) -> ListedSource | None:
        """The entry of exactly this domain; the user's own takes precedence."""
        return self.own.get(suffix) or self.listed.get(suffix)

    def member_part(self, labels: Iterable[str], path: str) -> str | None:
        """The label or path segment that marks a page as a member's own; None where there is none."""
        for label in labels:
            if label in self.member_labels:
                return f"{label}."
        for segment in path.lower().replace("%7e", "~").split("/"):
            starts = any(segment.startswith(start) and segment != start for start in self._segment_starts)
            if starts or segment in self.member_segments:
                return f"/{segment}"
        return None


@dataclass(frozen=True, slots=True)
class Source:
    """What an address is worth, and why.

    Attributes:
        kind: A kind of source; None for unlisted sources and for entries that state a tier only.
        entry: The domain, publisher or suffix that decided; None for unlisted sources.
        reason: Why that kind or entry has this tier; "" where nothing is known.
        because: One line for the breakdown of a score.
    """

    tier: int
    base_score: int
    tags: tuple[str, ...]
    is_academic: bool
    is_government: bool
    because: str
    kind: str | None = None
    entry: str | None = None
    reason: str = ""


def source_of(
    host: str, registered: str, publisher: str | None, own_name: str, rules: SourceRules, path: str = ""
) -> Source:
    """The source of a page (R-171).

    The user's entries decide first, then shipped entries, then publishers, then suffixes; the rest is in tier 3. Among
    entries the longest domain decides. Domains match by whole labels.

    Args:
        host: Lower-case host name, "" where the address has none.
        registered: The registered domain of the host; "" where there is none. ``gov.uk`` is a public suffix below which
            only the government registers. ``gov.cc`` is a registered domain of unknown owner and matches no suffix.
        publisher: The publisher's name as the crawler gave it.
        own_name: The name that the page gives itself; it counts on a government host only.
        rules: Lists, kinds and suffixes.
        path: The path of the address.
    """
    domains = host_suffixes(host)
    suffix = next((form for form in suffix_forms(domains, registered) if form in rules.suffixes), None)
    by_suffix = rules.suffixes[suffix] if suffix is not None else None
    domain = next((name for name in domains if name in rules.own), None)
    domain = domain or next((name for name in domains if name in rules.listed), None)
    name = _publisher(publisher, own_name, by_suffix, rules)
    found: ListedSource | None = None
    kind, matched, because = by_suffix, suffix, f"{host or 'the address'} is not listed"
    if domain is not None and (found := rules.entry_of(domain)) is not None:
        kind = found.kind or _listed_kind(domains, rules) or by_suffix
        matched, because = domain, f"{host} is listed as {domain}"
    elif name is not None:
        found = rules.publishers[name]
        kind, matched, because = found.kind or by_suffix, name, f"the publisher {name} is listed"
    elif by_suffix is not None:
        because = f"{host} is {'a government' if rules.kinds[by_suffix].tag == 'government' else 'an academic'} host"
    if kind in rules.member_kinds:
        base = max(domain or "", registered, key=len)
        part = rules.member_part(host[: -len(base)].split(".") if host.endswith(base) else (), path)
        if part is not None:
            found, kind, because = None, SELF_PUBLISHED, f"members publish under {part} of {base}"
    return _source(found, kind, by_suffix, matched, because, rules)


def host_suffixes(host: str) -> tuple[str, ...]:
    """The host and its parent domains, longest first. Names have at most 127 labels; longer ones match nothing."""
    labels = host.lower().strip(".").split(".")
    if len(labels) > 127:
        return ()
    return tuple(".".join(labels[start:]) for start in range(len(labels)))


def suffix_forms(domains: Iterable[str], registered: str) -> Iterable[str]:
    """The forms of each domain that a suffix rule can have: ``gov.uk`` and, as it cannot be registered, ``gov.*``."""
    registered = registered.lower()
    for domain in domains:
        yield domain
        head, _, last = domain.rpartition(".")
        if len(last) == 2 and head and (not registered or len(domain) < len(registered)):
            yield f"{head}.*"


def normal_name(entry: str) -> str:
    """A domain or publisher's name as the lists have it: without outer blanks and dots, case-folded."""
    return entry.strip().strip(".").casefold()


def _listed_kind(domains: Iterable[str], rules: SourceRules) -> str | None:
    return next((rules.listed[name].kind for name in domains if name in rules.listed), None)


def _publisher(publisher: str | None, own_name: str, by_suffix: str | None, rules: SourceRules) -> str | None:
    government = by_suffix is not None and rules.kinds[by_suffix].tag == "government"
    name = normal_name(publisher or (own_name if government else ""))
    return name if name in rules.publishers else None


def _source(
    found: ListedSource | None,
    kind: str | None,
    by_suffix: str | None,
    matched: str | None,
    because: str,
    rules: SourceRules,
) -> Source:
    known = rules.kinds[kind] if kind is not None else None
    tier = (found.tier if found is not None else None) or (known.tier if known is not None else _UNLISTED_TIER)
    reason = (found.reason if found is not None else "") or (known.reason if known is not None else "")
    if known is not None and found is not None:
        because = f"{because} ({str(kind).replace('_', ' ')})"
    named = {known.tag} if known is not None else set()
    if by_suffix is not None and kind != SELF_PUBLISHED:
        named.add(rules.kinds[by_suffix].tag)
    tags = tuple(sorted(named - {""})) if known is not None or found is None else _TAGS_BY_TIER[tier]
    base = rules.base_scores[tier - 1]
    return Source(tier, base, tags, "academic" in tags, "government" in tags, because, kind, matched, reason)
