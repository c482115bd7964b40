"""How many points an index will hold, before anything is indexed: articles and a tier mix go in, counts come out.

The plan's arithmetic (R-218): an article of a tier that is chunked in full is a point for each chunk, of the rough tier
two, of the last one. An article embedding beside full chunks comes on top and is counted apart, so both figures can be
read (C-35). The mix is either assumed or seen in scored pages, whose text is then really cut into chunks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import get_args

from handlers.indexing.chunks import chunk_text
from handlers.indexing.points import ARTICLE, chunking_of, points_of
from handlers.indexing.rules import IndexPointsSection, TieredIndexingSection
from schemas.pages import ScoredPage, Tier

TIERS: tuple[Tier, ...] = get_args(Tier)
FLOAT_BYTES = 4
"""Of one number of a vector, as Qdrant keeps them."""
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class TierProfile:
    """What is known of a tier's articles.

    Attributes:
        tier: Which tier.
        chunking: How its text is cut: full, rough or none.
        weight: How many of all articles are in it, in any unit that all tiers share.
        full_chunks: Chunks of one article, on average, were it chunked in full.
        points: Points of one article, on average, as its tier is indexed; an article embedding beside chunks is not in.
        article_embeddings: Those, for one article.
    """

    tier: Tier
    chunking: str
    weight: Fraction
    full_chunks: Fraction
    points: Fraction
    article_embeddings: Fraction


@dataclass(frozen=True, slots=True)
class TierEstimate:
    """A tier's part of an estimate; counts are those of ``TierProfile`` for all its articles."""

    tier: Tier
    chunking: str
    articles: int
    full_chunks: int
    points: int
    article_embeddings: int

    @property
    def points_with_articles(self) -> int:
        """Points, article embeddings beside chunks included."""
        return self.points + self.article_embeddings


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """Tiers and their sums."""

    tiers: tuple[TierEstimate, ...]

    @property
    def articles(self) -> int:
        """All articles."""
        return sum(tier.articles for tier in self.tiers)

    @property
    def full_chunks(self) -> int:
        """Points without tiers: every article chunked in full."""
        return sum(tier.full_chunks for tier in self.tiers)

    @property
    def points(self) -> int:
        """Points with tiers, as the plan counts them."""
        return sum(tier.points for tier in self.tiers)

    @property
    def points_with_articles(self) -> int:
        """Points with tiers, article embeddings beside chunks included."""
        return sum(tier.points_with_articles for tier in self.tiers)

    def saved(self, points: int) -> float | None:
        """The share of the points without tiers that is spared; below 0 where there are more, None where none are."""
        return 1 - points / self.full_chunks if self.full_chunks else None


def estimate_points(articles: int, profiles: Sequence[TierProfile]) -> IndexEstimate:
    """Counts the points of so many articles (R-218, C-35).

    Args:
        articles: How many there are; every one of them is in exactly one tier, whole articles only.
        profiles: One for each tier; the weights have to sum to more than 0.

    >>> a = TierProfile("A", "full", Fraction(10), Fraction(10), Fraction(10), Fraction(1))
    >>> b = TierProfile("B", "rough", Fraction(50), Fraction(10), Fraction(2), Fraction(0))
    >>> c = TierProfile("C", "none", Fraction(40), Fraction(10), Fraction(1), Fraction(0))
    >>> estimate = estimate_points(10_000_000, (a, b, c))
    >>> estimate.full_chunks, estimate.points, estimate.points_with_articles
    (100000000, 24000000, 25000000)
    >>> estimate.saved(estimate.points), estimate.saved(estimate.points_with_articles)
    (0.76, 0.75)
    """
    parts = _apportioned(articles, [profile.weight for profile in profiles])
    return IndexEstimate(
        tuple(
            TierEstimate(
                tier=profile.tier,
                chunking=profile.chunking,
                articles=part,
                full_chunks=_rounded(part * profile.full_chunks),
                points=_rounded(part * profile.points),
                article_embeddings=_rounded(part * profile.article_embeddings),
            )
            for profile, part in zip(profiles, parts, strict=True)
        )
    )


def estimate_documents(documents: Mapping[str, int], chunks: int, tiers: TieredIndexingSection) -> IndexEstimate:
    """The estimate for documents that are there, by tier, to stand beside the count of their points."""
    counts = [documents.get(tier, 0) for tier in TIERS]
    mix = [Fraction(count) for count in counts]
    profiles = assumed_profiles(mix, Fraction(chunks), tiers)
    return estimate_points(sum(counts), profiles) if any(counts) else IndexEstimate(())


def assumed_profiles(
    mix: Sequence[Fraction], chunks: Fraction, tiers: TieredIndexingSection
) -> tuple[TierProfile, ...]:
    """Tiers of which only shares are known.

    Args:
        mix: Shares of the tiers A, B and C.
        chunks: Of one article on average, in every tier.
        tiers: How each is cut.
    """
    points = {"full": chunks, "rough": Fraction(2), "none": Fraction(1)}
    return tuple(
        TierProfile(tier, cut, weight, chunks, points[cut], Fraction(cut == "full"))
        for tier, weight in zip(TIERS, mix, strict=True)
        for cut in (chunking_of(tier, tiers),)
    )


def parse_mix(text: str) -> tuple[Fraction, ...]:
    """The shares of the tiers A, B and C in per cent.

    Raises:
        ValueError: With a message for people, where the text is not three numbers of at least 0 that sum to 100.

    >>> parse_mix("12.5/37.5/50")
    (Fraction(25, 2), Fraction(75, 2), Fraction(50, 1))
    """
    wanted = "three percentages of the tiers A, B and C, such as 10/50/40"
    parts = [part.strip() for part in text.split("/")]
    if len(parts) != len(TIERS) or not all(map(_NUMBER.fullmatch, parts)):
        raise ValueError(f"takes {wanted}, not {text[:100]!r}")
    mix = tuple(map(Fraction, parts))
    if min(mix) < 0:
        raise ValueError(f"takes {wanted}; {text!r} has a share below 0")
    if sum(mix) != 100:
        raise ValueError(f"takes {wanted}; {text!r} sums to {float(sum(mix)):g}, not to 100")
    return mix


@dataclass(slots=True)
class SampledPages:
    """Scored pages counted one by one: their tiers as they are, their points as ``index_page`` would make them."""

    tiers: TieredIndexingSection
    rules: IndexPointsSection
    pages: Counter[Tier] = field(default_factory=Counter)
    _full_chunks: Counter[Tier] = field(default_factory=Counter)
    _points: Counter[Tier] = field(default_factory=Counter)
    _article_embeddings: Counter[Tier] = field(default_factory=Counter)

    def add(self, page: ScoredPage) -> None:
        """Counts a page."""
        tier = page.tier
        made = points_of(page, self.tiers, self.rules)
        full = chunking_of(tier, self.tiers) == "full"
        beside_chunks = sum(full and point.kind == ARTICLE for point in made)
        self.pages[tier] += 1
        self._points[tier] += len(made) - beside_chunks
        self._article_embeddings[tier] += beside_chunks
        self._full_chunks[tier] += (
            len(made) - beside_chunks
            if full
            else len(chunk_text(page.content, self.tiers.tier_a.max_chunk_size, self.rules.chunk_unit))
        )

    def profiles(self) -> tuple[TierProfile, ...]:
        """The tiers as they were seen."""
        return tuple(
            TierProfile(
                tier=tier,
                chunking=chunking_of(tier, self.tiers),
                weight=Fraction(self.pages[tier]),
                full_chunks=self._each(self._full_chunks, tier),
                points=self._each(self._points, tier),
                article_embeddings=self._each(self._article_embeddings, tier),
            )
            for tier in TIERS
        )

    def _each(self, counts: Counter[Tier], tier: Tier) -> Fraction:
        return Fraction(counts[tier], self.pages[tier] or 1)


def _apportioned(total: int, weights: Sequence[Fraction]) -> list[int]:
    """Whole numbers that sum to the total, by largest remainder: no article is counted twice or lost to rounding.

    >>> _apportioned(10, [Fraction(1), Fraction(1), Fraction(1)])
    [4, 3, 3]
    """
    exact = [total * weight / sum(weights) for weight in weights]
    parts = [floor(part) for part in exact]
    order = sorted(range(len(parts)), key=lambda index: parts[index] - exact[index])
    for index in order[: total - sum(parts)]:
        parts[index] += 1
    return parts


def _rounded(number: Fraction) -> int:
    return floor(number + Fraction(1, 2))
