"""The source of an address: its kind, tier, base points and tags.

The address and the publisher that the crawler names decide. A page's own statements do not raise its tier (C-42).
Standard library only (R-178).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from handlers.trust.labels import Standing
from handlers.trust.public_lists import CONTESTED, DISPUTED, PublicList, Rating, rating_of

_LEAST = 6
"""Characters of a name that is looked for; shorter names are parts of many others."""
_HALF = _LEAST // 2
_LEAST_EDITED = 9
"""Characters of a name that looks like itself with any edit inside; shorter ones become another name."""
_EDITIONS = frozenset(("com", "net", "org"))
"""Suffixes besides those of countries below which owners register one name several times."""
_ALIKE = frozenset(map(frozenset, ("0o", "1l", "1i", "il", "3e", "4a", "5s", "7t", "8b", "9g", "gq", "uv")))
"""Signs that readers of a host take for each other."""
SELF_PUBLISHED: Final = "self_publishing"
"""The kind of pages that members publish below a host of another kind."""
_UNLISTED_TIER = 3
_WORDS: Final = {CONTESTED: "contested", DISPUTED: "not listed"}
_CONTESTED_PLACE = 3
"""Of the points of contested sources in the base scores."""
_TAGS_BY_TIER: Final[Mapping[int, tuple[str, ...]]] = {1: (), 2: ("news",), 3: ("blog",)}
"""Tags of a source whose entry has a tier and no kind."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source. Its tag in ``domain_tags`` is "" for none; the reason is that of its tier."""

    tier: int
    tag: str
    reason: str


class ListedSource(NamedTuple):
    """The entry of a domain or of a publisher: a kind, a tier, or both; ``own`` if the user wrote it.

    A tier and a reason of its own take precedence over those of the kind. The country has two letters, or is ``int``.
    """

    kind: str | None
    tier: int | None = None
    reason: str = ""
    name: str = ""
    country: str = ""
    own: bool = False


@dataclass(frozen=True, kw_only=True)
class SourceRules:
    """How an address gets its kind and its tier.

    Entries are by domain (the user's own, and the shipped ones) or by the publisher's case-folded name, kinds by name
    or by suffix of a host: ``gov.*`` is gov under any country's domain that cannot be registered. Members of a source
    of ``member_kinds`` publish under some labels of its hosts (``students``) and segments of its paths. A segment that
    ends in ``*`` holds for longer ones too. The last of ``base_scores`` is that of contested sources.
    """

    own: Mapping[str, ListedSource]
    listed: Mapping[str, ListedSource]
    publishers: Mapping[str, ListedSource]
    suffixes: Mapping[str, str]
    kinds: Mapping[str, SourceKind]
    base_scores: tuple[int, int, int, int]
    public: tuple[PublicList, ...] = ()
    member_labels: frozenset[str]
    member_segments: frozenset[str]
    member_kinds: frozenset[str]

    @cached_property
    def kind_tiers(self) -> Mapping[str, int]:
        """The tier of each kind."""
        return {name: kind.tier for name, kind in self.kinds.items()}

    @cached_property
    def names(self) -> ListedNames:
        """The names of listed sources that other hosts may imitate."""
        kinds = {name for name, kind in self.kinds.items() if kind.tier < _UNLISTED_TIER}
        trusted = {domain: entry.name or domain for domain, entry in self.listed.items() if entry.kind in kinds}
        return ListedNames(trusted, (one.praised for one in self.public))

    def member_part(self, labels: Iterable[str], path: str) -> str | None:
        """The label or path segment that marks a page as a member's own, if any."""
        for label in labels:
            if label in self.member_labels:
                return f"{label}."
        starts = tuple(segment[:-1] for segment in self.member_segments if segment.endswith("*"))
        for segment in path.lower().replace("%7e", "~").split("/"):
            if segment in self.member_segments or (segment.startswith(starts) and segment not in starts):
                return f"/{segment}"
        return None


@dataclass(frozen=True, slots=True)
class Source:
    """The tier of an address, and why.

    ``entry`` is the domain, publisher or suffix that decided, ``name`` what the list calls it, ``reason`` why it has
    this tier, ``because`` one line for the breakdown of a score. ``lists`` are the public lists that have the domain.
    """

    tier: int
    base_score: int
    tags: tuple[str, ...]
    because: str
    kind: str | None = None
    entry: str | None = None
    reason: str = ""
    name: str = ""
    standing: Standing = "listed"
    lists: tuple[str, ...] = ()


def source_of(
    host: str,
    registered: str,
    publisher: str | None,
    own_name: str,
    rules: SourceRules,
    path: str = "",
    shown: str = "",
) -> Source:
    """The source of a page (R-171).

    The user's entries decide first, then shipped entries, then publishers, then suffixes, then public lists; the rest
    is in tier 3. A public list that contests a domain below a shipped one precedes the shipped one. The longest
    matching domain decides. Domains match by whole labels.

    Args:
        host: Lower-case host name, or "".
        registered: The registered domain of the host, or "". ``gov.uk`` is a public suffix below which only the
            government registers. ``gov.cc`` is a registered domain of unknown owner and matches no suffix.
        publisher: The publisher's name as the crawler gave it.
        own_name: The name that the page gives itself; it counts on a government host only.
        rules: Lists, kinds and suffixes.
        path: The path of the address.
        shown: The host with the plain letters that its letters look like, where that is another one.
    """
    domains = host_suffixes(host)
    suffix = next((form for form in suffix_forms(domains, registered) if form in rules.suffixes), None)
    suffix_kind = rules.suffixes[suffix] if suffix is not None else None
    suffix_tag = rules.kinds[suffix_kind].tag if suffix_kind is not None else ""
    domain = next((name for entries in (rules.own, rules.listed) for name in domains if name in entries), None)
    name = normal_name(publisher or (own_name if suffix_tag == "government" else ""))
    entry: ListedSource | None = None
    kind, matched, because = suffix_kind, suffix, f"{host or 'the address'} is not listed"
    listed_kind = next((rules.listed[name].kind for name in domains if name in rules.listed), None)
    # The user's entries and the suffixes leave nothing to public lists.
    is_decided = domain in rules.own or (domain is None and (name in rules.publishers or suffix_kind is not None))
    rating = None if is_decided else _rating_of(domains, domain, rules)
    if rating is not None:
        kind, matched, domain = rating.kind, rating.domain, rating.domain
        listed = f"listed as {domain} ({kind.replace('_', ' ')})"
        because = f"{host} is {_WORDS.get(kind, listed)}: {rating.because}"
    elif domain is not None:
        entry = rules.own.get(domain) or rules.listed[domain]
        kind, matched, because = entry.kind or listed_kind or suffix_kind, domain, f"{host} is listed as {domain}"
    elif name in rules.publishers:
        entry = rules.publishers[name]
        kind, matched, because = entry.kind or suffix_kind, name, f"the publisher {name} is listed"
    elif suffix_kind is not None:
        because = f"{host} is {'a government' if suffix_tag == 'government' else 'an academic'} host"
    elif registered and (like := rules.names.like(shown or host, registered.count("."), is_folded=bool(shown))):
        because = f"{because}; the name looks like {like}"
    if kind in rules.member_kinds:
        base = max(domain or "", registered, key=len)
        part = rules.member_part(host[: -len(base)].split(".") if host.endswith(base) else (), path)
        if part is not None:
            entry, kind, because = None, SELF_PUBLISHED, f"members publish under {part} of {base}"
    known = rules.kinds[kind] if kind is not None else SourceKind(_UNLISTED_TIER, "", "")
    named = {known.tag} if kind == SELF_PUBLISHED else {known.tag, suffix_tag}
    tier, reason, tags = known.tier, known.reason, tuple(sorted(named - {""}))
    if entry is not None:
        tier, reason = entry.tier or tier, entry.reason or reason
        if kind is None:
            tags = _TAGS_BY_TIER[tier]
        elif kind in _WORDS:
            because = f"{host} is {_WORDS[kind]}: {reason}"
        else:
            because = f"{because} ({kind.replace('_', ' ')})"
        name = rules.listed.get(matched or "", entry).name
    else:
        name = rating.name if rating is not None and kind == rating.kind else ""
    standing: Standing = "contested" if kind == CONTESTED else "listed"
    if kind == DISPUTED or (kind is None and entry is None):
        standing = "unlisted"
    return Source(
        tier=tier,
        base_score=rules.base_scores[_CONTESTED_PLACE if standing == "contested" else tier - 1],
        tags=tags,
        because=because,
        kind=kind,
        entry=matched,
        reason=reason,
        name=name,
        standing=standing,
        lists=rating.lists if rating is not None else (),
    )


def _rating_of(domains: tuple[str, ...], shipped: str | None, rules: SourceRules) -> Rating | None:
    """What public lists say of a host. Below a shipped domain only contested domains count."""
    longer = domains if shipped is None else domains[: domains.index(shipped)]
    rating = rating_of(longer, rules.public, rules.kind_tiers)
    return rating if shipped is None or (rating is not None and rating.kind == CONTESTED) else None


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
