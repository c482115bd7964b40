"""Trains a model on feedback and compares it with the order that was served and with the model in force.

The number of labelled results decides the phase. Queries are split: the trees see one side and are judged on the other.
One thread, one seed and rows in a fixed order: the same groups give the same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.model import (
    FEATURES_OF,
    OBJECTIVES,
    TOTAL_FEATURES_PHASE_A,
    TOTAL_FEATURES_PHASE_C,
    VERSION_PHASE_A,
    VERSION_PHASE_C,
    Manifest,
    Phase,
    RankingModel,
    confidence_of,
)
from schemas.ranking import MAX_GRADE
from streams.runtime.extras import install_line
from streams.training.config import TrainingSection
from streams.training.grade import (
    Difference,
    Group,
    Measures,
    compare,
    grade_of,
    judged,
    measure,
    ndcg_at,
    ordered_grades,
    split_groups,
)
from streams.training.join import Joined, LeftOut

_VERSIONS = {TOTAL_FEATURES_PHASE_A: VERSION_PHASE_A, TOTAL_FEATURES_PHASE_C: VERSION_PHASE_C}


class XgboostMissingError(Exception):
    """The extra ``train`` is not installed."""


class NotTrained(StrEnum):
    OTHER_VERSIONS = "other_versions"
    TOO_FEW_LABELS = "too_few_labels"
    TOO_FEW_GOOD = "too_few_good"
    TOO_FEW_QUERIES = "too_few_queries"
    NOTHING_TO_LEARN = "nothing_to_learn"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the data makes no model: results with feedback, and how many of them or of good ones are missing."""

    reason: NotTrained
    because: str
    labelled: int
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Rival:
    name: str
    measures: Measures
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """The figures of a trained model."""

    phase: Phase
    features: int
    seed: int
    labelled: int  # results with feedback
    requests: int
    period: tuple[datetime, datetime] | None  # first and last request; None where no request has a time
    trained: tuple[int, int]  # requests and different queries that were trained on
    held_out: tuple[int, int]  # the same of those held out; ``judged`` of them have results of different grades
    judged: tuple[int, int]
    config_versions: Mapping[str, int]  # requests by the configuration that they were answered under
    grades: tuple[int, ...]  # how often each grade occurs, 0 to 4, on both sides
    left_out: Mapping[LeftOut, int]
    measures: Measures
    confidence: float
    # Share of the held-out requests in which the trees are as sure of their first result as ``confidence``.
    sure: float
    where_sure: Measures  # measures of their order where they are sure, and of the served one elsewhere
    rivals: tuple[Rival, ...]
    importance: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Trained:
    model: RankingModel
    report: TrainingReport


@dataclass(frozen=True, slots=True)
class Grown:
    """A model in XGBoost's JSON, and the share of the gain of all splits by feature, the largest first."""

    model: str
    importance: tuple[tuple[str, float], ...]


def train(
    joined: Joined,
    section: TrainingSection,
    seed: int,
    confidence: float,
    features: int | None = None,
    current: RankingModel | None = None,
    skip_other_versions: bool = False,
    features_config: str | None = None,
) -> Trained | Refusal:
    """Trains a model, and judges it beside the order as served and the model in force (``current``).

    The seed is that of the trees' draws and of the intervals. From ``confidence`` on the trees' order counts
    (``ranking.trees.confidence``). A model has 29 or 41 features; where None, 41 in the listwise phase and 29 before.
    ``skip_other_versions`` leaves out answers with features of an unknown version, instead of refusing.
    Raises XgboostMissingError if it is not installed.
    """
    if joined.other_versions and not skip_other_versions:
        found = ", ".join(f"{version} ({count:,})" for version, count in joined.other_versions.items())
        because = (
            f"answers were served with features of a version that this Assay does not know: {found}; it knows "
            f"{' and '.join(FEATURES_OF)}. Train with the Assay that served them, or leave them out: "
            "--skip-other-versions"
        )
        return Refusal(NotTrained.OTHER_VERSIONS, because, joined.labelled)
    if features is None:
        listwise = section.phases.phase_of(joined.labelled) is Phase.LISTWISE
        features = TOTAL_FEATURES_PHASE_C if listwise else TOTAL_FEATURES_PHASE_A
    wide = tuple(request for request in joined.requests if request.features.shape[1] >= features)
    if narrow := len(joined.requests) - len(wide):
        joined = replace(joined, requests=wide, left_out={**joined.left_out, LeftOut.TOO_FEW_FEATURES: narrow})
    relevant = section.grades.relevant
    phase = section.phases.phase_of(joined.labelled)
    split = split_groups(joined.requests, section.grades, section.held_out)
    to_judge = judged(split.held_out, relevant)
    if phase is None:
        missing = section.phases.binary - joined.labelled
        takes = f"it takes {section.phases.binary:,}: {missing:,} are missing"
        because = f"{joined.labelled:,} results have feedback, and {takes}"
        return Refusal(NotTrained.TOO_FEW_LABELS, because, joined.labelled, missing)
    if (refusal := _refusal(joined, phase, split.trained, to_judge, section)) is not None:
        return refusal
    grown = grow(split.trained, FEATURES_OF[_VERSIONS[features]], phase, section, seed)
    times = [request.at for request in joined.requests if request.at is not None]
    period = (min(times), max(times)) if times else None
    when = f", {period[0]:%Y-%m-%d} to {period[1]:%Y-%m-%d}" if period else ""
    digest = hashlib.sha256(grown.model.encode()).hexdigest()
    manifest = Manifest(
        name="feedback",
        version=digest[:12],
        phase=phase,
        features_version=_VERSIONS[features],
        features=FEATURES_OF[_VERSIONS[features]],
        sha256=digest,
        features_config=features_config,
        trained_on=f"Feedback on {joined.labelled:,} results of {len(joined.requests):,} requests{when}.",
        licence="That of the feedback and of the pages it is about; nothing of either is in the model but thresholds.",
    )
    model = RankingModel(manifest=manifest, model=grown.model)
    queries = [group.query for group in to_judge]
    scored = [model.score(group.features.astype(np.float64)) for group in to_judge]
    own = [ordered_grades(group, scores) for group, scores in zip(to_judge, scored, strict=True)]
    sure = [confidence_of(scores.tolist(), phase) >= confidence for scores in scored]
    served = [group.grades.tolist() for group in to_judge]
    orders = {"order as served": served}
    if current is not None and all(group.features.shape[1] >= len(current.manifest.features) for group in to_judge):
        orders[f"{current.manifest.name} {current.manifest.version}"] = [
            ordered_grades(group, current.score(group.features.astype(np.float64))) for group in to_judge
        ]
    own_ndcg = [ndcg_at(grades) for grades in own]
    rivals = [
        Rival(
            name,
            measure(theirs, queries, relevant),
            compare(own_ndcg, [*map(ndcg_at, theirs)], queries, seed, section.least_judged),
        )
        for name, theirs in orders.items()
    ]
    everything = np.concatenate([group.grades for group in (*split.trained, *split.held_out)])
    report = TrainingReport(
        phase=phase,
        features=features,
        seed=seed,
        labelled=joined.labelled,
        requests=len(joined.requests),
        period=period,
        trained=_counted(split.trained),
        held_out=_counted(split.held_out),
        judged=_counted(to_judge),
        config_versions=Counter(request.config_version for request in joined.requests),
        grades=tuple(np.bincount(everything, minlength=MAX_GRADE + 1).tolist()),
        left_out=joined.left_out,
        measures=measure(own, queries, relevant),
        confidence=confidence,
        sure=sum(sure) / len(sure),
        where_sure=measure(
            [mine if is_ else was for mine, was, is_ in zip(own, served, sure, strict=True)], queries, relevant
        ),
        rivals=tuple(rivals),
        importance=grown.importance,
    )
    return Trained(model, report)


def grow(groups: Sequence[Group], names: Sequence[str], phase: Phase, section: TrainingSection, seed: int) -> Grown:
    """Grows a model from groups that have not all the same grades; of wider rows the first columns are used.

    Raises XgboostMissingError if it is not installed.
    """
    try:
        import xgboost
    except ImportError:
        raise XgboostMissingError(f"training needs XGBoost: {install_line('rank')}") from None
    binary = phase is Phase.BINARY
    grades = np.concatenate([group.grades for group in groups])
    data = xgboost.DMatrix(
        np.concatenate([group.features[:, : len(names)] for group in groups]),
        label=grades >= section.grades.relevant if binary else grades,
        qid=None if binary else np.repeat(np.arange(len(groups)), [len(group.grades) for group in groups]),
        weight=_weights(groups, section) if binary else None,
        feature_names=list(names),
        nthread=1,
    )
    growth = section.growth
    parameters: dict[str, Any] = {"objective": OBJECTIVES[phase], "seed": seed, "verbosity": 0} | growth.parameters
    if section.position_bias and not binary:
        parameters["lambdarank_unbiased"] = True
    booster = xgboost.train(parameters, data, num_boost_round=growth.trees)
    gains: dict[str, Any] = booster.get_score(importance_type="total_gain")
    total = sum(gains.values()) or 1.0
    importance = sorted(((name, gain / total) for name, gain in gains.items()), key=lambda item: (-item[1], item[0]))
    return Grown(booster.save_raw("json").decode(), tuple(importance))


def _weights(groups: Sequence[Group], section: TrainingSection) -> NDArray[np.float32]:
    """Inverse propensity (Joachims et al. 2017): good results count the more, the less likely it was to see them."""
    good = np.concatenate([group.grades for group in groups]) >= section.grades.relevant
    ranks = np.concatenate([group.ranks for group in groups]).astype(np.float32)
    return np.where(good, ranks**section.position_bias, 1.0).astype(np.float32)


def _refusal(
    joined: Joined, phase: Phase, trained: Sequence[Group], to_judge: Sequence[Group], section: TrainingSection
) -> Refusal | None:
    """Why enough feedback makes no model; None where it makes one."""
    relevant = section.grades.relevant
    good = sum(grade_of(signals, section.grades) >= relevant for signals in joined.signals)
    # Which results are good is learned across requests, which of two is better within one.
    grades = [group.grades for group in trained]
    lists = [np.concatenate(grades) >= relevant] if phase is Phase.BINARY and trained else grades
    if (missing := section.least_good - good) > 0:
        because = (
            f"{joined.labelled:,} results have feedback, but only {good:,} of them are good (grade {relevant} or "
            f"more), and it takes {section.least_good:,}: {missing:,} are missing"
        )
        return Refusal(NotTrained.TOO_FEW_GOOD, because, joined.labelled, missing)
    if not trained:
        because = "all queries are among those held out; feedback on more different queries is needed"
        return Refusal(NotTrained.TOO_FEW_QUERIES, because, joined.labelled)
    if not any(len(np.unique(row)) > 1 for row in lists):
        because = "no result is better than another by its feedback: good and poor ones are needed, also in one request"
        return Refusal(NotTrained.NOTHING_TO_LEARN, because, joined.labelled)
    if not to_judge:
        because = (
            f"none of the queries held out (about {section.held_out:.0%} of all, by a hash of their text) has results "
            "with different grades, so no model could be judged; feedback on more different queries is needed"
        )
        return Refusal(NotTrained.TOO_FEW_QUERIES, because, joined.labelled)
    return None


def _counted(groups: Sequence[Group]) -> tuple[int, int]:
    return len(groups), len({group.query for group in groups})


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
