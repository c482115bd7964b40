"""Everything that is measured of judges, in one text: tables by task and what answers take."""

from __future__ import annotations

from collections.abc import Set

from streams.settings.model import load_settings
from tools import labelled
from tools.accuracy import claims, ranking, relevance, retrieval
from tools.accuracy.judges import bill_table, judges


async def measure(parts: Set[str], most_cases: int, most_usd: float) -> str:
    """The tables of the parts, for the offline judge and the model that the settings name; "" for no parts.

    Args:
        parts: Of claims, relevance and retrieval.
        most_cases: Of each set, that a model is asked about.
        most_usd: What all of its answers may cost together.
    """
    if not parts:
        return ""
    lines: list[str] = []
    async with judges(load_settings(), most_cases, most_usd) as some:
        if "claims" in parts:
            lines += [*await claims.run(some), ""]
        if "relevance" in parts:
            lines += [*await relevance.run(some), ""]
        if "retrieval" in parts and labelled.has(retrieval.SET):
            lines += [*await retrieval.run(some), ""]
        return "\n".join([*lines, bill_table(some)])


async def measure_ranking(most_cases: int, most_usd: float, most_queries: int | None) -> str:
    """The tables of queries, which have their own section; "" without a set.

    Args:
        most_cases: Queries of each set that a model is asked about.
        most_usd: What all of its answers may cost together.
        most_queries: Of each set and kind, that anybody is asked about; None for all.
    """
    settings = load_settings()
    async with judges(settings, most_cases, most_usd) as some:
        lines = await ranking.run(some, settings, most_queries)
        return "\n".join([*lines, bill_table(some)]) if lines else ""
