"""The sections of the configuration on sources: lists by kind, the user's own entries, tiers and suffixes.

``source_rules_of`` turns them into the plain values that ``handlers.trust.sources`` reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from handlers.html.links import host_of, registered_domain
from handlers.trust.sources import (
    SELF_PUBLISHED,
    ListedSource,
    Source,
    SourceKind,
    SourceRules,
    normal_name,
    source_of,
)
from schemas.rules import Section

Country = Annotated[str, Field(pattern="^([a-z]{2}|int)$")]


class SourceTiersSection(Section):
    """The ``source_tiers`` section: the user's domains (with a dot) and publishers' names (without) by tier."""

    tier_1: tuple[str, ...] = Field(description="Government, academic and the like: the highest base.")
    tier_2: tuple[str, ...] = Field(description="Mainstream media.")
    tier_3: tuple[str, ...] = Field(description="Blogs and niche sites; unlisted sources are here too.")


class BaseScores(Section):
    """Base points by tier (R-171)."""

    tier_1: int = Field(ge=0, le=100, description="Points for tier 1.")
    tier_2: int = Field(ge=0, le=100, description="Points for tier 2.")
    tier_3: int = Field(ge=0, le=100, description="Points for tier 3 and for unknown sources.")


class SourceRulesSection(Section):
    """The ``source_rules`` section: base points of the tiers, and suffixes that identify a kind of host (C-42)."""

    base_scores: BaseScores = Field(description="Base points by tier.")
    government_suffixes: tuple[str, ...] = Field(
        description="Suffixes of kind government; .* is any country domain where it is a public suffix."
    )
    academic_suffixes: tuple[str, ...] = Field(
        description="Suffixes of kind university; .* is any country domain where it is a public suffix."
    )


class KindSection(Section):
    """One kind of source."""

    tier: int = Field(ge=1, le=3, description="The tier of its sources.")
    tag: Literal["", "government", "academic", "news", "blog"] = Field(
        default="", description="The tag of its sources in domain_tags."
    )
    reason: str = Field(min_length=1, description="Why its sources have this tier.")


class MembersSection(Section):
    """Pages that members publish below the host of an institution; they have the kind self_publishing."""

    kinds: tuple[str, ...] = Field(description="Kinds of sources to which the two rules apply.")
    host_labels: tuple[str, ...] = Field(description="Labels of a host left of the listed or registered domain.")
    path_segments: tuple[str, ...] = Field(
        description="Segments of a path; a final * stands for at least one character."
    )


class NamedSource(Section):
    """A shipped entry with a reason of its own."""

    name: str = Field(description="The body that the domain belongs to.")
    reason: str = Field(min_length=1, description="Why it has its kind.")


class OwnSource(Section):
    """An entry of the user."""

    kind: str | None = Field(default=None, description="A kind of sources.kinds.")
    tier: int | None = Field(default=None, ge=1, le=3, description="A tier of its own, instead of the kind's.")
    reason: str = Field(default="", description="Why; shown with the decision.")

    @model_validator(mode="after")
    def _decides(self) -> Self:
        if self.kind is None and self.tier is None:
            raise ValueError("an entry needs a kind or a tier")
        return self


class SourcesSection(Section):
    """The ``sources`` section: kinds with their tiers, shipped lists, and the user's own entries."""

    kinds: dict[str, KindSection] = Field(description="Kinds of sources by name, with their tiers.")
    members: MembersSection = Field(description="Which pages members of an institution publish themselves.")
    lists: dict[str, dict[Country, dict[str, str | NamedSource]]] = Field(
        default={}, description="Shipped entries by kind, country and domain: config/sources/<kind>.yaml."
    )
    own: dict[str, OwnSource] = Field(
        default={}, description="Entries of the user by domain or publisher's name; they take precedence."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        used = {*self.lists, *self.members.kinds, SELF_PUBLISHED, "government", "university"}
        used |= {entry.kind for entry in self.own.values() if entry.kind is not None}
        if unknown := sorted(used - self.kinds.keys()):
            raise ValueError(f"unknown kind {unknown[0]!r}; sources.kinds has {', '.join(self.kinds)}")
        kind_of: dict[str, str] = {}
        for domain, kind, _, _ in self.entries():
            if domain in kind_of:
                raise ValueError(f"{domain} is listed twice, as {kind_of[domain]} and as {kind}")
            kind_of[domain] = kind
        return self

    def entries(self) -> Iterator[tuple[str, str, str, str | NamedSource]]:
        """Domain, kind, country and name of every shipped entry."""
        for kind, countries in self.lists.items():
            for country, domains in countries.items():
                for domain, entry in domains.items():
                    yield domain, kind, country, entry


def source_rules_of(sources: SourcesSection, tiers: SourceTiersSection, rules: SourceRulesSection) -> SourceRules:
    """The three sections as the plain values that ``source_of`` reads; ``sources.own`` precedes ``source_tiers``."""
    by_tier = ((3, tiers.tier_3), (2, tiers.tier_2), (1, tiers.tier_1))
    own = {normal_name(name): ListedSource(None, tier, own=True) for tier, names in by_tier for name in names}
    for name, entry in sources.own.items():
        own[normal_name(name)] = ListedSource(entry.kind, entry.tier, entry.reason, own=True)
    suffixes = {normal_name(suffix): "university" for suffix in rules.academic_suffixes}
    suffixes |= {normal_name(suffix): "government" for suffix in rules.government_suffixes}
    return SourceRules(
        own={name: entry for name, entry in own.items() if "." in name},
        publishers={name: entry for name, entry in own.items() if "." not in name},
        listed={domain: _listed(kind, country, entry) for domain, kind, country, entry in sources.entries()},
        suffixes=suffixes,
        kinds={name: SourceKind(kind.tier, kind.tag, kind.reason) for name, kind in sources.kinds.items()},
        base_scores=(rules.base_scores.tier_1, rules.base_scores.tier_2, rules.base_scores.tier_3),
        member_labels=frozenset(sources.members.host_labels),
        member_segments=frozenset(sources.members.path_segments),
        member_kinds=frozenset(sources.members.kinds),
    )


def source_at(url: str, publisher: str | None, own_name: str, rules: SourceRules) -> Source:
    """The source of an address; arguments as for ``source_of``."""
    host = host_of(url)
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    return source_of(host, registered_domain(host), publisher, own_name, rules, path)


def _listed(kind: str, country: str, entry: str | NamedSource) -> ListedSource:
    if isinstance(entry, NamedSource):
        return ListedSource(kind, reason=entry.reason, name=entry.name, country=country)
    return ListedSource(kind, name=entry, country=country)
