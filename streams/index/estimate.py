"""How many points an index will hold: the articles of each tier times their points.

Article embeddings beside full chunks are counted apart. The tier mix is assumed, or counted in scored pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isclose
from typing import get_args

from handlers.indexing.chunks import chunk_text
from handlers.indexing.config import IndexPointsSection, TieredIndexingSection
from handlers.indexing.points import chunking_of, points_of
from schemas.pages import ScoredPage, Tier

TIERS: tuple[Tier, ...] = get_args(Tier)
FLOAT_BYTES = 4  # of one number of a vector, as Qdrant keeps them


@dataclass(frozen=True, slots=True)
class PointCounts:
    """Counts of articles and of their points."""

    articles: int
    full_chunks: int  # points, were every article chunked in full
    points: int  # points as the tiers are indexed, without the article embeddings beside chunks
    article_embeddings: int  # those

    @property
    def points_with_articles(self) -> int:
        return self.points + self.article_embeddings


@dataclass(frozen=True, slots=True)
class TierEstimate(PointCounts):
    tier: Tier
    chunking: str


@dataclass(frozen=True, slots=True)
class IndexEstimate(PointCounts):
    tiers: tuple[TierEstimate, ...]

    def saved(self, points: int) -> float | None:
        """The share of the points without tiers that is saved; below 0 where there are more, None without any."""
        return 1 - points / self.full_chunks if self.full_chunks else None


def estimate_points(articles: int, mix: Sequence[float], chunks: float, tiers: TieredIndexingSection) -> IndexEstimate:
    """Counts the points of articles of which only the mix is known: the shares of the tiers A, B and C, not all 0.

    ``chunks`` are those of one article on average, in every tier.
    """
    points_each = {"full": chunks, "rough": 2.0, "none": 1.0}
    found = []
    for tier, count in zip(TIERS, _apportioned(articles, mix), strict=True):
        cut = chunking_of(tier, tiers)
        beside = count if cut == "full" else 0
        found.append(TierEstimate(count, round(count * chunks), round(count * points_each[cut]), beside, tier, cut))
    return _summed(found)


def estimate_documents(documents: Mapping[str, int], chunks: int, tiers: TieredIndexingSection) -> IndexEstimate:
    """The estimate for the documents of an index by tier, to compare with the count of their points."""
    counts = [documents.get(tier, 0) for tier in TIERS]
    return estimate_points(sum(counts), counts, chunks, tiers) if any(counts) else _summed(())


def parse_mix(text: str) -> tuple[float, ...]:
    """The shares of the tiers A, B and C in per cent. Raises ValueError with a message for people."""
    try:
        mix = tuple(map(float, text.split("/")))
    except ValueError:
        mix = ()
    if len(mix) != len(TIERS) or min(mix) < 0 or not isclose(sum(mix), 100):
        wanted = "three percentages of the tiers A, B and C that sum to 100, such as 10/50/40"
        raise ValueError(f"--mix takes {wanted}, not {text[:100]!r}")
    return mix


class SampledPages:
    """Scored pages counted one by one: their tiers as they are, their points as ``index_page`` would make them."""

    def __init__(self, tiers: TieredIndexingSection, rules: IndexPointsSection) -> None:
        self._tiers = tiers
        self._rules = rules
        self.pages: Counter[Tier] = Counter()
        self._sums = dict.fromkeys(TIERS, (0, 0, 0))  # full chunks, points, article embeddings

    def add(self, page: ScoredPage) -> None:
        tier = page.tier
        made = len(points_of(page, self._tiers, self._rules))
        chunks = len(chunk_text(page.content, self._tiers.tier_a.max_chunk_size, self._rules.chunk_unit, page.blocks))
        beside = made - chunks if chunking_of(tier, self._tiers) == "full" else 0
        full_chunks, points, article_embeddings = self._sums[tier]
        self.pages[tier] += 1
        self._sums[tier] = (full_chunks + chunks, points + made - beside, article_embeddings + beside)

    def estimate(self, articles: int) -> IndexEstimate:
        """The points of so many articles like the pages; there is at least one page."""
        found = []
        for tier, count in zip(TIERS, _apportioned(articles, [self.pages[tier] for tier in TIERS]), strict=True):
            scale = count / (self.pages[tier] or 1)
            full_chunks, points, beside = (round(number * scale) for number in self._sums[tier])
            found.append(TierEstimate(count, full_chunks, points, beside, tier, chunking_of(tier, self._tiers)))
        return _summed(found)


def _summed(tiers: Sequence[TierEstimate]) -> IndexEstimate:
    return IndexEstimate(
        sum(tier.articles for tier in tiers),
        sum(tier.full_chunks for tier in tiers),
        sum(tier.points for tier in tiers),
        sum(tier.article_embeddings for tier in tiers),
        tuple(tiers),
    )


def _apportioned(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the weights, which sum to the total."""
    ends = [round(total * end / sum(weights)) for end in accumulate(weights, initial=0)]
    return [end - begin for begin, end in pairwise(ends)]
