"""The card of a trained model: its data, its figures and its limits (Mitchell et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from handlers.ranking.model import OBJECTIVES, TOTAL_FEATURES_PHASE_C
from streams.training.config import TrainingSection
from streams.training.grade import Measures
from streams.training.train import Trained, TrainingReport

MEASURE_NAMES = ("NDCG@10", "precision@5", "MAP", "MRR")
_POSITIONS = ("retrieval_position", "ranking_position", "relative_score", "ranking_percentile", "position_change")
"""Features of a result's place: through them a model can learn which results were clicked for their place."""


def write_card(trained: Trained, section: TrainingSection) -> str:
    manifest, report, growth = trained.model.manifest, trained.report, section.growth
    block = "with" if report.features == TOTAL_FEATURES_PHASE_C else "without"
    stays = ", ".join(f"{band.seconds:g} s: {band.grade}" for band in section.grades.dwell)
    by_place = sum(share for name, share in report.importance if name in _POSITIONS)
    corrected = (
        f"It was weighed by rank (`training.position_bias` {section.position_bias:g}), which is an assumption."
        if section.position_bias
        else "It was not corrected for (`training.position_bias`)."
    )
    count = len(report.config_versions)
    mixture = f"- Answers of {count} configurations are mixed, whose features may differ.\n" if count > 1 else ""
    measured = [(name, *figures(measures), against) for name, measures, against in rows_of(report)]
    importance = [(name, f"{share:.1%}") for name, share in report.importance]
    return f"""# Ranking model {manifest.name} {manifest.version}

Re-ranks the candidates of a query: {report.phase} trees (`{OBJECTIVES[report.phase]}`) over {report.features} \
features, {block} the trust block, after `{manifest.features_version}`. It is off until it is switched on; in shadow \
it scores and changes no order.

## Data

{_table(("", ""), _data(report))}

Features are those logged when the results were served. Grades: the one given; else by the stay ({stays}); else a \
click: {section.grades.click}. Results down to {section.grades.passed_over} below the last with feedback count as \
seen; those left alone have grade 0. No query is on both sides of the split.

## Training

{growth.trees} trees of depth {growth.depth}, rate {growth.rate:g}, {growth.rows:g} of the rows and \
{growth.columns:g} of the features for each, min_child_weight {growth.leaf_weight:g}, lambda {growth.penalty:g}, seed \
{report.seed}.

## How good it is

On {told_of(report.judged)} held out, in which some result is better than another; a query counts once, however often \
it was asked:

{_table(("order", *MEASURE_NAMES, "this model's NDCG@10 against it"), measured)}

In brackets: the interval of 95 in 100 bootstrap resamples of these queries. It is sure of its first result in \
{report.sure:.1%} of the requests (`ranking.trees.confidence` {report.confidence:g}); elsewhere the order before it \
stays, as in the second row.

## What it looks at

Share of the gain of all splits:

{_table(("feature", "share"), importance)}

## Limits

- Presentation bias: results at higher ranks are clicked more, and results that were never shown have no feedback. \
{by_place:.1%} of the gain is of features of a result's place. {corrected}
{mixture}- The figures above are of the shown results, as they were ordered then.
- It is as good as its queries: other subjects, languages or sources need their own figures. Let it run in shadow first.

## Licence

{manifest.licence}
"""


def rows_of(report: TrainingReport) -> list[tuple[str, Measures, str]]:
    """A row for each order: its name, its measures, and by how much this model's NDCG@10 is above its own."""
    rows = [("this model", report.measures, ""), ("this model where it is sure", report.where_sure, "")]
    for rival in report.rivals:
        above = rival.difference
        bounds = f"{above.low:+.3f} to {above.high:+.3f}"
        rows.append((rival.name, rival.measures, f"{above.ndcg_at_10:+.3f} ({bounds}): {above.verdict}"))
    return rows


def told_of(counted: tuple[int, int]) -> str:
    requests, queries = counted
    return f"{requests:,} request{'s'[: requests != 1]} of {queries:,} {'query' if queries == 1 else 'queries'}"


def figures(measures: Measures) -> list[str]:
    """In the order of ``MEASURE_NAMES``."""
    return [f"{figure:.3f}" for figure in (measures.ndcg_at_10, measures.precision_at_5, measures.map, measures.mrr)]


def _data(report: TrainingReport) -> list[tuple[str, str]]:
    period = f"{report.period[0]:%Y-%m-%d %H:%M} to {report.period[1]:%Y-%m-%d %H:%M}" if report.period else "unknown"
    return [
        ("requests with feedback", f"{report.requests:,}"),
        ("results with feedback", f"{report.labelled:,}"),
        ("results graded, those left alone included", f"{sum(report.grades):,}"),
        ("period", period),
        ("configurations that they were answered under", f"{len(report.config_versions):,}"),
        ("trained on", told_of(report.trained)),
        ("held out", told_of(report.held_out)),
        ("grades 0 to 4", ", ".join(f"{count:,}" for count in report.grades)),
        *((f"{reason.meaning}, left out", f"{count:,}") for reason, count in report.left_out.items() if count),
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    aligned = "|".join(["---", *("---:" for _ in head[1:])])
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, *rows)).replace("\n", f"\n|{aligned}|\n", 1)
