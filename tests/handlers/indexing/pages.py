"""Scored pages for tests of the index."""

from typing import Any

from schemas.pages import ScoredPage, Tier, TrustFeatures
from tests.samples import scored

LONG = "\n".join(f"Paragraph {n} tells of the river and of the mill. It goes on for a while." for n in range(60))
SCORES: dict[Tier, int] = {"A": 80, "B": 50, "C": 20}


def scored_page(tier: Tier, content: str = LONG, **fields: Any) -> ScoredPage:
    """A page of a tier, with a title, a date and a summary where nothing else is said."""
    score = SCORES[tier]
    values: dict[str, Any] = {
        "url": "https://news.example/story",
        "title": "A title",
        "summary": "In short.",
        "date": "2026-02-03",
        "trust_features": TrustFeatures(source_tier=1, base_score=40, cts_score=score),
        "cts_score": score,
    }
    return scored(content=content, tier=tier, **(values | fields))
