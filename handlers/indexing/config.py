"""The sections of ``config/config_indexing.yaml``: sources, points of the trust score, tiers, labels, points.

They are pydantic models; ``source_rules_of`` makes the plain values that ``handlers.trust.sources`` reads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Generic, Literal, Self, TypeVar

import ada_url
from pydantic import Field, PlainSerializer, model_validator

from handlers.html.links import registered_domain
from handlers.indexing.chunks import ChunkUnit
from handlers.prompts.label_forms import look_alike
from handlers.trust.labels import LABELS, TIERS, Label, Thresholds, Tier
from handlers.trust.public_lists import CONTESTED, DISPUTED, PublicList
from handlers.trust.score import ScorePoints
from handlers.trust.sources import (
    SELF_PUBLISHED,
    ListedSource,
    Source,
    SourceKind,
    SourceRules,
    normal_name,
    source_of,
)
from schemas.addresses import web_address
from schemas.rules import Rules, Section

Country = Annotated[str, Field(pattern="^([a-z]{2}|int)$")]
Score = Annotated[int, Field(ge=0, le=100)]
T = TypeVar("T")


class BySourceTier(Section, Generic[T]):
    """A value for each source tier."""

    tier_1: T = Field(description="Tier 1: governments, universities and the like.")
    tier_2: T = Field(description="Tier 2: mainstream media.")
    tier_3: T = Field(description="Tier 3: all other sources.")

    @property
    def values(self) -> tuple[T, T, T]:
        """The three values."""
        return self.tier_1, self.tier_2, self.tier_3


# Classes with names, because an instance of ``BySourceTier[…]`` can't be pickled.
class ScoreBySourceTier(BySourceTier[Score]):
    """A score for each source tier, and for contested sources."""

    contested: Score = Field(default=0, description="Sources that a public list or the user contests.")


_UNLISTED = "Sources that no list has, or that lists contradict each other about."
_CONTESTED = "Sources that a public list or the user contests."


class TierBySource(BySourceTier[Tier]):
    """An index tier for each kind of source: listed in a tier, unlisted, contested."""

    unlisted: Tier = Field(default="B", description=_UNLISTED)
    contested: Tier = Field(default="C", description=_CONTESTED)


class LabelBySource(BySourceTier[Label]):
    """A trust label for each kind of source: listed in a tier, unlisted, contested."""

    unlisted: Label = Field(default="MEDIUM", description=_UNLISTED)
    contested: Label = Field(default="LOW", description=_CONTESTED)


def _places(bounds: TierBySource | LabelBySource, classes: Sequence[str]) -> tuple[int, int, int, int, int]:
    """The place of the bound of each kind of source among the classes."""
    first, second, third = map(classes.index, bounds.values)
    return first, second, third, classes.index(bounds.unlisted), classes.index(bounds.contested)


class SourceTiersSection(BySourceTier[tuple[str, ...]]):
    """The ``source_tiers`` section: the user's domains (with a dot) and publishers' names (without) by tier."""


class SourceRulesSection(Section):
    """The ``source_rules`` section: base points of the tiers, and suffixes that identify a kind of host (C-42)."""

    base_scores: ScoreBySourceTier = Field(description="Base points by tier.")
    government_suffixes: tuple[str, ...] = Field(
        description="Suffixes of kind government; .* is any country domain where it is a public suffix."
    )
    academic_suffixes: tuple[str, ...] = Field(
        description="Suffixes of kind university; .* is any country domain where it is a public suffix."
    )


class KindSection(Section):
    """A kind of source."""

    tier: int = Field(ge=1, le=3, description="The tier of its sources.")
    tag: Literal["", "government", "academic", "news", "blog"] = Field(
        default="", description="The tag of its sources in domain_tags."
    )
    reason: str = Field(min_length=1, description="Why its sources have this tier.")


class MembersSection(Section):
    """Pages that members publish below the host of an institution; they have the kind self_publishing."""

    kinds: tuple[str, ...] = Field(description="Kinds of sources to which the two rules apply.")
    host_labels: tuple[str, ...] = Field(description="Labels of a host left of the listed or registered domain.")
    path_segments: tuple[str, ...] = Field(description="Segments of a path; a final * matches at least one character.")


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
        if self.tier is not None and self.kind in (CONTESTED, DISPUTED):
            raise ValueError(f"a {self.kind} source has no tier of its own: leave tier out")
        return self


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class PublicListSection(Section):
    """A public list of sources, with what its licence asks for."""

    title: str = Field(min_length=1, description="Its name, as reasons show it.")
    origin: str = Field(default="", description="Where it is published.")
    licence: str = Field(default="", description="Its licence.")
    date: str = Field(min_length=1, description="The day or year of the copy.")
    values: dict[str, str] = Field(description="The kind of a domain by what the list says of it.")
    rates: bool = Field(
        default=True,
        description="Whether it rates sources; a directory decides only where no rating list has a domain.",
    )
    domains: Annotated[str, PlainSerializer(_digest, when_used="json")] = Field(
        default="", description="Its domains, one a line, with a name after a tab; a line =value begins a group."
    )


class SourcesSection(Section):
    """The ``sources`` section: kinds with their tiers, shipped and public lists, and the user's own entries."""

    kinds: dict[str, KindSection] = Field(
        description="Kinds of sources by name, with their tiers: config/sources/<kind>.yaml."
    )
    members: MembersSection = Field(description="Which pages members of an institution publish themselves.")
    lists: dict[str, dict[Country, dict[str, str | NamedSource]]] = Field(
        default={}, description="Shipped entries by kind, country and domain: config/sources/<kind>.yaml."
    )
    public: dict[str, PublicListSection] = Field(
        default={}, description="Public lists by name: config/sources/public/<name>.txt; shipped entries precede them."
    )
    own: dict[str, OwnSource] = Field(
        default={}, description="Entries of the user by domain or publisher's name; they take precedence."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        used = {*self.lists, *self.members.kinds, SELF_PUBLISHED, "government", "university"}
        used |= {entry.kind for entry in self.own.values() if entry.kind is not None}
        used |= {kind for one in self.public.values() for kind in one.values.values()}
        if unknown := sorted(used - self.kinds.keys()):
            raise ValueError(f"unknown kind {unknown[0]!r}; sources.kinds has {', '.join(self.kinds)}")
        kind_of: dict[str, str] = {}
        for domain, kind, _, _ in self.entries():
            if domain in kind_of:
                raise ValueError(f"{domain} is listed twice, as {kind_of[domain]} and as {kind}")
            kind_of[domain] = kind
        for name, one in self.public.items():
            if unknown := sorted({*re.findall("^=(.*)", one.domains, re.MULTILINE)} - one.values.keys()):
                raise ValueError(f"the public list {name} has {unknown[0]!r}, which is not in values")
        return self

    def entries(self) -> Iterator[tuple[str, str, str, str | NamedSource]]:
        """Domain, kind, country and name of every shipped entry."""
        for kind, countries in self.lists.items():
            for country, domains in countries.items():
                for domain, entry in domains.items():
                    yield domain, kind, country, entry


class CitationPoints(Section):
    """Points for citations (R-172)."""

    doi_or_citation: int = Field(ge=0, description="A DOI or enough citations.")
    external_links: int = Field(ge=0, description="Enough links to other owners.")
    references_section: int = Field(ge=0, description="A references section.")


class StructurePoints(Section):
    """Points for structure (R-173)."""

    headings: int = Field(ge=0, description="Enough h2 and h3 headings.")
    statistics: int = Field(ge=0, description="A data table or enough figures.")
    schema_: int = Field(ge=0, alias="schema", description="A schema.org type of the article family.")
    author: int = Field(ge=0, description="An author or a byline.")
    date: int = Field(ge=0, description="A publication date.")


class Minimum(Section):
    """How much of an observation its points take."""

    citations: int = Field(ge=1, description="Citations without a DOI.")
    external_links: int = Field(ge=1, description="Different links to other owners, no shops.")
    headings: int = Field(ge=1, description="Headings h2 and h3.")


class TrustPointsSection(Section):
    """The ``trust_points`` section: the formula's points and minimums."""

    citation: CitationPoints = Field(description="Citation points.")
    structure: StructurePoints = Field(description="Structure points.")
    minimum: Minimum = Field(description="How much of an observation its points take.")

    @cached_property
    def points(self) -> ScorePoints:
        """The section as plain values."""
        least = {f"min_{name}": number for name, number in self.minimum}
        return ScorePoints(**self.citation.model_dump(), **self.structure.model_dump(by_alias=True), **least)

    @property
    def most(self) -> int:
        """The points of a page that has everything."""
        return sum((*self.citation.model_dump().values(), *self.structure.model_dump().values()))


class IndexTier(Section):
    """How the pages of an index tier are indexed."""

    min_cts: Score = Field(description="The tier begins at this score.")
    chunking: Literal["full", "rough", "none"] = Field(description="How the text is cut: full, rough or none.")


class TierA(IndexTier):
    """Full chunks."""

    max_chunk_size: int = Field(ge=1, description="Characters of a chunk.")


class TierB(IndexTier):
    """The beginning and the summary."""

    max_chars: int = Field(ge=1, description="Characters from the beginning that are indexed.")


class TieredIndexingSection(Section):
    """The ``tiered_indexing`` section (R-215)."""

    tier_a: TierA = Field(description="Deep reports, academic work, government documents.")
    tier_b: TierB = Field(description="Ordinary news.")
    tier_c: IndexTier = Field(description="The rest.")
    max_tier: TierBySource = Field(
        default=TierBySource(tier_1="A", tier_2="A", tier_3="A"),
        description="The deepest index tier that a source can reach; A for all is no limit.",
    )

    @cached_property
    def thresholds(self) -> Thresholds:
        """The section as plain values."""
        return Thresholds(self.tier_a.min_cts, self.tier_b.min_cts, _places(self.max_tier, TIERS))

    @model_validator(mode="after")
    def _descend(self) -> Self:
        first, second, third = self.tier_a.min_cts, self.tier_b.min_cts, self.tier_c.min_cts
        if third != 0:
            raise ValueError(f"tier_c.min_cts ({third}) must be 0")
        if not first > second:
            raise ValueError(f"tier_a.min_cts ({first}) must be above tier_b.min_cts ({second})")
        if not second > third:
            raise ValueError(f"tier_b.min_cts ({second}) must be above tier_c.min_cts ({third})")
        return self


class IndexPointsSection(Section):
    """The ``index_points`` section: what the plan leaves open about points."""

    chunk_unit: ChunkUnit = Field(description="What max_chunk_size counts: characters, or words (and CJK characters).")
    article_characters: int = Field(ge=1, description="Of the main text that an article embedding is made of.")


class TrustLabelsSection(Section):
    """The ``trust_labels`` section (R-216): the score from which each label holds, and the best by source tier."""

    high: Score = Field(description="HIGH begins at this score.")
    medium: Score = Field(description="MEDIUM begins at this score.")
    low: Score = Field(description="Always 0: every page has a label.")
    max_label: LabelBySource = Field(
        default=LabelBySource(tier_1="HIGH", tier_2="HIGH", tier_3="MEDIUM"),
        description="The best label that a source can reach, whatever the score.",
    )

    @cached_property
    def thresholds(self) -> Thresholds:
        """The section as plain values."""
        return Thresholds(self.high, self.medium, _places(self.max_label, LABELS))

    @model_validator(mode="after")
    def _descend(self) -> Self:
        if not self.high > self.medium > self.low == 0:
            raise ValueError("labels have to fall from high over medium to low, which begins at 0")
        return self


def source_rules_of(sources: SourcesSection, tiers: SourceTiersSection, rules: SourceRulesSection) -> SourceRules:
    """The three sections as the plain values that ``source_of`` reads; ``sources.own`` precedes ``source_tiers``."""
    by_tier = reversed([*enumerate(tiers.values, 1)])  # The best tier last, because the last entry of a name counts.
    own = {listed_name(name): ListedSource(None, tier, own=True) for tier, names in by_tier for name in names}
    for name, entry in sources.own.items():
        own[listed_name(name)] = ListedSource(entry.kind, entry.tier, entry.reason, own=True)
    suffixes = {normal_name(suffix): "university" for suffix in rules.academic_suffixes}
    suffixes |= {normal_name(suffix): "government" for suffix in rules.government_suffixes}
    return SourceRules(
        own={name: entry for name, entry in own.items() if "." in name},
        publishers={name: entry for name, entry in own.items() if "." not in name},
        listed={domain: _listed(kind, country, entry) for domain, kind, country, entry in sources.entries()},
        suffixes=suffixes,
        kinds={name: SourceKind(kind.tier, kind.tag, kind.reason) for name, kind in sources.kinds.items()},
        base_scores=(*rules.base_scores.values, rules.base_scores.contested),
        public=tuple(
            PublicList(name, one.title, one.date, one.values, one.domains, one.rates)
            for name, one in sources.public.items()
        ),
        member_labels=frozenset(sources.members.host_labels),
        member_segments=frozenset(sources.members.path_segments),
        member_kinds=frozenset(sources.members.kinds),
    )


def listed_name(entry: str) -> str:
    """The name of an entry as look-ups write it: a domain as browsers do, a publisher case-folded."""
    address = web_address("" if entry.isascii() else f"http://{entry.strip().strip('.')}")
    return address.host if "." in address.host and address.path == "/" else normal_name(entry)


class SourcedRules(Rules):
    """Rules of a handler that looks up the sources of addresses."""

    sources: SourcesSection
    source_tiers: SourceTiersSection
    source_rules: SourceRulesSection

    @cached_property
    def compiled_sources(self) -> SourceRules:
        """Lists, kinds and suffixes of sources, made once."""
        return source_rules_of(self.sources, self.source_tiers, self.source_rules)


def source_at(url: str, publisher: str | None, own_name: str, rules: SourceRules) -> Source:
    """The source of an address; arguments as for ``source_of``."""
    address = web_address(url)
    host = address.host
    shown = look_alike(ada_url.idna_to_unicode(host)).lower() if "xn--" in host else ""
    return source_of(host, registered_domain(host), publisher, own_name, rules, address.path[1:], shown)


def _listed(kind: str, country: str, entry: str | NamedSource) -> ListedSource:
    if isinstance(entry, NamedSource):
        return ListedSource(kind, reason=entry.reason, name=entry.name, country=country)
    return ListedSource(kind, name=entry, country=country)
