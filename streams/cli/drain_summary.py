"""The summary of ``assay run --drain``: what each handler of this process took in, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streams.telemetry.metrics import Metrics


def summary_of(metrics: Metrics, handlers: Sequence[str]) -> dict[str, Any]:
    """For each handler its inputs and outcomes, with the reasons; for ``score_page`` also the tiers of its pages."""
    found: dict[str, Any] = {name: {"in": 0, "outcomes": {}} for name in handlers}
    for labels, count in _samples(metrics.handler_events_total):
        if (its := found.get(labels["handler"])) is not None and count:
            outcome = " ".join(filter(None, (labels["outcome"], labels["reason"])))
            its["in"] += count
            its["outcomes"][outcome] = its["outcomes"].get(outcome, 0) + count
    if "score_page" in found:
        tiers = dict.fromkeys("ABC", 0)
        for labels, count in _samples(metrics.pages_scored_total):
            tiers[labels["tier"]] += count
        found["score_page"]["tiers"] = tiers
    if "index_page" in found:
        found["index_page"]["points"] = sum(count for _, count in _samples(metrics.index_points_written_total))
    return found


def summary_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    for name, its in summary.items():
        if not its["in"]:
            continue
        parts = [f"{count} {_WORDS.get(outcome, outcome)}" for outcome, count in its["outcomes"].items()]
        if its.get("tiers"):
            parts[0] += f" ({', '.join(f'{tier} {count}' for tier, count in its['tiers'].items())})"
        if "points" in its:
            parts.append(f"{its['points']} points written")
        yield f"{name} {its['in']} in: {', '.join(parts)}"
    if idle := [name for name, its in summary.items() if not its["in"]]:
        yield f"nothing to do for {', '.join(idle)}"


_WORDS = {"emit": "done"}


def _samples(counter: Any) -> Iterator[tuple[Mapping[str, str], int]]:
    for family in counter.collect():
        for sample in family.samples:
            if sample.name.endswith("_total"):
                yield sample.labels, int(sample.value)
