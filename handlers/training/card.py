"""The card of a model: what it was trained on, how good it is, and where not to trust it (Mitchell et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from handlers.ranking.manifest import OBJECTIVES, TOTAL_FEATURES_PHASE_C, Manifest
from handlers.training.joining import MEANINGS
from handlers.training.judging import Measures
from handlers.training.sections import TrainingSection
from handlers.training.train import Trained, TrainingReport

MEASURE_NAMES = ("NDCG@10", "precision@5", "MAP", "MRR")
_POSITIONS = ("retrieval_position", "ranking_position", "relative_score", "ranking_percentile", "position_change")
"""Features that say where a result stood: through them a model can learn what was clicked for standing there."""

_VERSIONS = 3
"""Configurations that are named, the most frequent first."""


def write_card(trained: Trained, section: TrainingSection) -> str:
    """The model card, in Markdown.

    Args:
        trained: The model with its report.
        section: How it was trained.
    """
    manifest, report = trained.model.manifest, trained.report
    parts = (
        [f"# Ranking model {manifest.name} {manifest.version}", "", *_intended(manifest, report)],
        ["## Data", "", *_data(report, section)],
        ["## Training", "", *_training(report, section)],
        ["## How good it is", "", *_measured(report)],
        ["## What it looks at", "", *_importance(report)],
        ["## Limits", "", *_limits(report, section)],
        ["## Licence", "", manifest.licence],
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def rows_of(report: TrainingReport) -> list[tuple[str, Measures, str]]:
    """A row for each order: its name, its measures, and by how much this model's NDCG@10 is above its own."""
    rows = [("this model", report.measures, ""), ("this model where it is sure", report.where_sure, "")]
    for rival in report.rivals:
        its = rival.difference
        rows.append(
            (rival.name, rival.measures, f"{its.ndcg_at_10:+.3f} ({its.low:+.3f} to {its.high:+.3f}): {its.verdict}")
        )
    return rows


def told_of(counted: tuple[int, int]) -> str:
    """So many requests of so many queries.

    >>> told_of((40, 1))
    '40 requests of 1 query'
    """
    requests, queries = counted
    return f"{requests:,} request{'s'[: requests != 1]} of {queries:,} {'query' if queries == 1 else 'queries'}"


def mixed(report: TrainingReport) -> str | None:
    """What to tell where answers of several configurations were trained on together; else None."""
    if len(report.config_versions) < 2:
        return None
    often = sorted(report.config_versions.items(), key=lambda item: (-item[1], item[0]))
    found = ", ".join(f"{version} ({count:,})" for version, count in often[:_VERSIONS])
    more = ", ..." if len(often) > _VERSIONS else ""
    return (
        f"answers of {len(often):,} configurations are mixed: {found}{more}; where ranking.bm25, "
        "ranking.intent or ranking.mmr differ between them, the same feature has other numbers"
    )


def _intended(manifest: Manifest, report: TrainingReport) -> list[str]:
    block = "with" if report.features == TOTAL_FEATURES_PHASE_C else "without"
    return [
        f"Re-ranks the candidates of a query: {report.phase} trees (`{OBJECTIVES[report.phase]}`) over "
        f"{report.features} features, {block} the trust block, after `{manifest.features_version}`. It is off until "
        "somebody switches it on; in shadow it scores and changes no order."
    ]


def _data(report: TrainingReport, section: TrainingSection) -> list[str]:
    period = f"{report.period[0]:%Y-%m-%d %H:%M} to {report.period[1]:%Y-%m-%d %H:%M}" if report.period else "unknown"
    acts = section.grades
    bands = ", ".join(f"{band.seconds:g} s: {band.grade}" for band in acts.dwell)
    return [
        *_table(
            ("", ""),
            [
                ("requests with feedback", f"{report.requests:,}"),
                ("results with feedback", f"{report.labelled:,}"),
                ("results graded, those left alone included", f"{report.graded:,}"),
                ("period", period),
                ("configurations that they were answered under", f"{len(report.config_versions):,}"),
                ("trained on", f"{report.trained[0]:,} requests, {report.trained[1]:,} different queries"),
                ("held out", f"{report.held_out[0]:,} requests, {report.held_out[1]:,} different queries"),
                ("grades 0 to 4", ", ".join(f"{count:,}" for count in report.grades)),
                *(
                    (MEANINGS[reason] + ", left out", f"{count:,}")
                    for reason, count in report.left_out.items()
                    if count
                ),
            ],
        ),
        "",
        f"Features are those logged when the results were served. Grades: the one given; else by the stay ({bands}); "
        f"else a click: {acts.click}. Results down to {acts.passed_over} below the last with feedback count as seen; "
        "those left alone have grade 0. No query is on both sides of the split.",
    ]


def _training(report: TrainingReport, section: TrainingSection) -> list[str]:
    growth = section.growth
    return _table(
        ("parameter", "value"),
        [
            ("objective", OBJECTIVES[report.phase]),
            ("trees, depth, rate", f"{growth.trees}, {growth.depth}, {growth.rate:g}"),
            ("share of rows, of features", f"{growth.rows:g}, {growth.columns:g}"),
            ("min_child_weight, lambda", f"{growth.leaf_weight:g}, {growth.penalty:g}"),
            ("position bias", f"{section.position_bias:g}"),
            ("seed", str(report.seed)),
        ],
    )


def _measured(report: TrainingReport) -> list[str]:
    rows = [
        (name, *(f"{value:.3f}" for value in figures(measures)), difference)
        for name, measures, difference in rows_of(report)
    ]
    return [
        f"On {told_of(report.judged)} held out, in which some result is better than another; a query counts once, "
        "however often it was asked:",
        "",
        *_table(("order", *MEASURE_NAMES, "this model's NDCG@10 against it"), rows),
        "",
        "In brackets: the interval of 95 in 100 bootstrap resamples of these queries. It is sure of its first result "
        f"in {report.sure:.1%} of the requests (`ranking.trees.confidence` {report.confidence:g}); elsewhere the order "
        "before it stands, as in the second row.",
    ]


def _importance(report: TrainingReport) -> list[str]:
    rows = [(name, f"{share:.1%}") for name, share in report.importance]
    return ["Share of the gain of all splits:", "", *_table(("feature", "share"), rows)]


def _limits(report: TrainingReport, section: TrainingSection) -> list[str]:
    by_place = sum(share for name, share in report.importance if name in _POSITIONS)
    corrected = (
        f"It was weighed by rank (`training.position_bias` {section.position_bias:g}), which is an assumption."
        if section.position_bias
        else "It was not corrected for (`training.position_bias`)."
    )
    return [
        "- Presentation bias: what stands higher is clicked more, and what was never shown has no feedback. "
        f"{by_place:.1%} of the gain is of features that say where a result stood. {corrected}",
        *([f"- {said[0].upper()}{said[1:]}."] if (said := mixed(report)) else []),
        "- The figures above are of what was shown, as it was ordered then; what was not shown is not in them.",
        "- It is as good as its queries: other subjects, languages or sources need their own figures. Let it run in "
        "shadow first.",
    ]


def figures(measures: Measures) -> tuple[float, float, float, float]:
    """In the order of ``MEASURE_NAMES``."""
    return measures.ndcg_at_10, measures.precision_at_5, measures.map, measures.mrr


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    aligned = "|".join(["---", *("---:" for _ in head[1:])])
    return [f"| {' | '.join(head)} |", f"|{aligned}|", *(f"| {' | '.join(row)} |" for row in rows)]
