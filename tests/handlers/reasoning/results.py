"""Ranked results for tests of contexts and answers."""

from typing import Any

from schemas.ranking import RankedResult, ReasoningMetadata


def result(rank: int, label: str = "HIGH", **differs: Any) -> RankedResult:
    """A result; its scores are odd enough to be found again in any text that shows them."""
    return RankedResult.model_validate(
        {
            "rank": rank,
            "url": f"https://site{chr(96 + rank)}.example/page",
            "title": f"Title {chr(64 + rank)}",
            "score": 0.731_593,
            "stage_scores": {"vector": 0.617_283, "bm25": 8.529_637, "fused": 0.731_593, "mmr": 0.463_719},
            "reasons": ["it has the words"],
            "passage": f"What the page of {chr(64 + rank)} says.",
            "cts_score": {"HIGH": 83, "MEDIUM": 59, "LOW": 27}[label],
            "trust_features": {"source_tier": 1, "base_score": 47, "citation_count": 911},
            "trust_label": label,
            "_reasoning_metadata": ReasoningMetadata.model_validate({"trust_label": label, "label_source": "score"}),
            **differs,
        }
    )
