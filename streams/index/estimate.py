"""How many points an index will hold: the articles of each tier times their points (R-218).

Article embeddings beside full chunks are counted apart (C-35). The tier mix is assumed, or counted in scored pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import isclose
from typing import get_args

from handlers.indexing.chunks import chunk_text
from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.indexing.points import chunking_of, points_of
from schemas.pages import ScoredPage, Tier

TIERS: tuple[Tier, ...] = get_args(Tier)
FLOAT_BYTES = 4
"""Of one number of a vector, as Qdrant keeps them."""


@dataclass(frozen=True, slots=True)
class TierEstimate:
    """The articles of a tier.

    Attributes:
        full_chunks: Points, were every article chunked in full.
        points: Points as the tier is indexed, without the article embeddings beside chunks.
        article_embeddings: Those.
    """

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
        """The share of the points without tiers that is saved; below 0 where there are more, None without any."""
        return 1 - points / self.full_chunks if self.full_chunks else None


def estimate_points(articles: int, mix: Sequence[float], chunks: float, tiers: TieredIndexingSection) -> IndexEstimate:
    """Counts the points of articles of which only the mix is known.

    Args:
        articles: Each is in exactly one tier.
        mix: Shares of the tiers A, B and C, in any unit; not all 0.
        chunks: Of one article on average, in every tier.
        tiers: How each is cut.
    """
    each = {"full": chunks, "rough": 2.0, "none": 1.0}
    found = []
    for tier, count in zip(TIERS, _apportioned(articles, mix), strict=True):
        cut = chunking_of(tier, tiers)
        beside = count if cut == "full" else 0
        found.append(TierEstimate(tier, cut, count, round(count * chunks), round(count * each[cut]), beside))
    return IndexEstimate(tuple(found))


def estimate_documents(documents: Mapping[str, int], chunks: int, tiers: TieredIndexingSection) -> IndexEstimate:
    """The estimate for the documents of an index by tier, to compare with the count of their points."""
    counts = [documents.get(tier, 0) for tier in TIERS]
    return estimate_points(sum(counts), counts, chunks, tiers) if any(counts) else IndexEstimate(())


def parse_mix(text: str) -> tuple[float, ...]:
    """The shares of the tiers A, B and C in per cent.

    Raises:
        ValueError: With a message for people, where the text is not three numbers of at least 0 that sum to 100.
    """
    try:
        mix = tuple(map(float, text.split("/")))
    except ValueError:
        mix = ()
    if len(mix) != len(TIERS) or min(mix) < 0 or not isclose(sum(mix), 100):
        wanted = "three percentages of the tiers A, B and C that sum to 100, such as 10/50/40"
        raise ValueError(f"takes {wanted}, not {text[:100]!r}")
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
        made = len(points_of(page, self.tiers, self.rules))
        chunks = len(chunk_text(page.content, self.tiers.tier_a.max_chunk_size, self.rules.chunk_unit))
        beside = made - chunks if chunking_of(tier, self.tiers) == "full" else 0
        self.pages[tier] += 1
        self._points[tier] += made - beside
        self._article_embeddings[tier] += beside
        self._full_chunks[tier] += chunks

    def estimate(self, articles: int) -> IndexEstimate:
        """The points of so many articles like the pages; there is at least one page."""
        found = []
        for tier, count in zip(TIERS, _apportioned(articles, [self.pages[tier] for tier in TIERS]), strict=True):
            scale = count / (self.pages[tier] or 1)
            sums = (self._full_chunks[tier], self._points[tier], self._article_embeddings[tier])
            found.append(TierEstimate(tier, chunking_of(tier, self.tiers), count, *(round(n * scale) for n in sums)))
        return IndexEstimate(tuple(found))


def _apportioned(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the weights, which sum to the total."""
    ends = [round(total * end / sum(weights)) for end in accumulate(weights, initial=0)]
    return [end - begin for begin, end in pairwise(ends)]
