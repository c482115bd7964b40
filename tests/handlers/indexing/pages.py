"""Scored pages for tests of the index."""

from typing import Any

from schemas.pages import ScoredPage, Tier, TrustFeatures

LONG = "\n".join(f"Paragraph {n} tells of the river and of the mill. It goes on for a while." for n in range(60))
SCORES: dict[Tier, int] = {"A": 80, "B": 50, "C": 20}


def scored_page(tier: Tier, content: str = LONG, **fields: Any) -> ScoredPage:
    """A page of a tier, with a title, a date and a summary where nothing else is said."""
    score = SCORES[tier]
    values: dict[str, Any] = {
        "url": "https://news.example/story",
        "title": "A title",
        "content": content,
        "summary": "In short.",
        "date": "2026-02-03",
        "trust_features": TrustFeatures(source_tier=1, base_score=40, cts_score=score),
        "quality_metadata": {},
        "cts_breakdown": [],
        "label_source": "score",
        "cts_score": score,
        "tier": tier,
        "trust_label": "LOW",
        "config_version": "0" * 12,
    }
    return ScoredPage.model_validate(values | fields)
