"""A model of feedback: what was joined goes in; a model, its manifest and its report come out, or why there is none.

The phase follows from how many results are labelled; queries are split, the trees see one side, and on the other they
are held against the order that was served and against the model in force.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from handlers.ranking.manifest import (
    FEATURES_OF,
    TOTAL_FEATURES_PHASE_A,
    TOTAL_FEATURES_PHASE_C,
    VERSION_PHASE_A,
    VERSION_PHASE_C,
    Manifest,
    Phase,
)
from handlers.ranking.trees import RankingModel, confidence_of
from handlers.training.grading import Group, grade_of, split_groups
from handlers.training.growing import grow
from handlers.training.joining import Joined, LeftOut
from handlers.training.judging import Difference, Measures, compare, judged, measure, ndcgs, ordered_grades
from handlers.training.sections import TrainingSection

FEATURES_VERSIONS = {TOTAL_FEATURES_PHASE_A: VERSION_PHASE_A, TOTAL_FEATURES_PHASE_C: VERSION_PHASE_C}
"""Of a model that takes so many."""


class NotTrained(StrEnum):
    """Why there is no model."""

    OTHER_VERSIONS = "other_versions"
    TOO_FEW_LABELS = "too_few_labels"
    TOO_FEW_GOOD = "too_few_good"
    TOO_FEW_QUERIES = "too_few_queries"
    NOTHING_TO_LEARN = "nothing_to_learn"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Data that no model can be made of, and what to do.

    Attributes:
        labelled: Results with feedback.
        missing: Labelled results, or good ones, that it would take; 0 where that is not what is missing.
    """

    reason: NotTrained
    because: str
    labelled: int
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Rival:
    """An order that the new model is held against, on the same queries."""

    name: str
    measures: Measures
    difference: Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingReport:
    """Everything there is to say of a model that was trained.

    Attributes:
        labelled: Results with feedback.
        graded: Results that were seen, graded or left alone, on both sides.
        requests: That were answered and got feedback.
        period: First and last request; None where no request has a time.
        trained: Requests and different queries that were trained on.
        held_out: The same of those held out; ``judged`` of them tell one order from another.
        config_versions: How many requests were answered under each configuration.
        grades: How often each grade occurs, 0 to 4.
        confidence: From which on the trees' order counts, as it was configured.
        sure: Share of the held-out requests in which they are that sure of their first result.
        where_sure: Measures of what would be shown: their order where they are sure, elsewhere the one that was served.
        rivals: The order as served, and the model in force where there is one.
    """

    phase: Phase
    features: int
    seed: int
    labelled: int
    graded: int
    requests: int
    period: tuple[datetime, datetime] | None
    trained: tuple[int, int]
    held_out: tuple[int, int]
    judged: tuple[int, int]
    config_versions: Mapping[str, int]
    grades: tuple[int, ...]
    left_out: Mapping[LeftOut, int]
    measures: Measures
    confidence: float
    sure: float
    where_sure: Measures
    rivals: tuple[Rival, ...]
    importance: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model and how it came about."""

    model: RankingModel
    report: TrainingReport


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
    """Trains a model and judges it.

    Args:
        joined: What was served and what was done with it.
        section: How.
        seed: Of the trees' draws, and of the intervals.
        confidence: From which on the trees' order counts (``ranking.trees.confidence``).
        features: 29 or 41; by the phase where None: 41 in the listwise one, 29 before (R-241, R-243).
        current: The model in force, to compare with.
        skip_other_versions: Leave out answers whose features nobody here knows, instead of refusing.
        features_config: Of the configuration in force, for the manifest.

    Raises:
        XgboostMissingError: It is not installed.
    """
    if joined.other_versions and not skip_other_versions:
        return _other_versions(joined)
    features = features or features_of(section.phases.phase_of(joined.labelled))
    joined = _wide_enough(joined, features)
    labelled = joined.labelled
    phase = section.phases.phase_of(labelled)
    if phase is None:
        return _too_few(labelled, section.phases.binary)
    if refusal := _too_few_good(joined, section):
        return refusal
    split = split_groups(joined.requests, section.grades, section.held_out)
    to_judge = judged(split.held_out, section.grades.relevant)
    if refusal := _unfit(split.trained, to_judge, phase, section, labelled):
        return refusal
    grown = grow(split.trained, FEATURES_OF[FEATURES_VERSIONS[features]], phase, section, seed)
    period = _period(joined)
    manifest = _manifest(grown.model, phase, features, joined, period, features_config)
    model = RankingModel(manifest=manifest, model=grown.model)
    scored = _scored(model, to_judge)
    own = _ordered(to_judge, scored)
    sure = [confidence_of(scores.tolist(), phase) >= confidence for scores in scored]
    served = [group.grades.tolist() for group in to_judge]
    orders = {"order as served": served}
    if current is not None and all(group.features.shape[1] >= len(current.manifest.features) for group in to_judge):
        orders[f"{current.manifest.name} {current.manifest.version}"] = _ordered(to_judge, _scored(current, to_judge))
    relevant, queries = section.grades.relevant, [group.query for group in to_judge]
    would_be = [mine if is_ else was for mine, was, is_ in zip(own, served, sure, strict=True)]
    everything = (*split.trained, *split.held_out)
    report = TrainingReport(
        phase=phase,
        features=features,
        seed=seed,
        labelled=labelled,
        graded=sum(len(group.grades) for group in everything),
        requests=len(joined.requests),
        period=period,
        trained=_counted(split.trained),
        held_out=_counted(split.held_out),
        judged=_counted(to_judge),
        config_versions=dict(sorted(Counter(request.config_version for request in joined.requests).items())),
        grades=tuple(sum(int((group.grades == grade).sum()) for group in everything) for grade in range(5)),
        left_out=joined.left_out,
        measures=measure(own, queries, relevant),
        confidence=confidence,
        sure=sum(sure) / len(sure),
        where_sure=measure(would_be, queries, relevant),
        rivals=tuple(
            Rival(
                name,
                measure(theirs, queries, relevant),
                compare(ndcgs(own), ndcgs(theirs), queries, section.bootstrap, seed, section.least_judged),
            )
            for name, theirs in orders.items()
        ),
        importance=grown.importance,
    )
    return Trained(model, report)


def features_of(phase: Phase | None) -> int:
    """How many features a phase takes unless told otherwise: only the listwise one grew by the trust block (R-241)."""
    return TOTAL_FEATURES_PHASE_C if phase is Phase.LISTWISE else TOTAL_FEATURES_PHASE_A


def _wide_enough(joined: Joined, features: int) -> Joined:
    requests = tuple(request for request in joined.requests if request.features.shape[1] >= features)
    if not (narrow := len(joined.requests) - len(requests)):
        return joined
    return replace(joined, requests=requests, left_out={**joined.left_out, LeftOut.TOO_FEW_FEATURES: narrow})


def _other_versions(joined: Joined) -> Refusal:
    found = ", ".join(f"{version} ({count:,})" for version, count in joined.other_versions.items())
    because = (
        f"answers were served with features of a version that this Assay does not know: {found}; it knows "
        f"{' and '.join(FEATURES_OF)}. Train with the Assay that served them, or leave them out: --skip-other-versions"
    )
    return Refusal(NotTrained.OTHER_VERSIONS, because, joined.labelled)


def _too_few(labelled: int, needed: int) -> Refusal:
    return Refusal(
        NotTrained.TOO_FEW_LABELS,
        f"{labelled:,} results have feedback, and it takes {needed:,}: {needed - labelled:,} are missing",
        labelled,
        needed - labelled,
    )


def _too_few_good(joined: Joined, section: TrainingSection) -> Refusal | None:
    signals = [signals for request in joined.requests for signals in request.signals if signals is not None]
    good = sum(grade_of(each, section.grades) >= section.grades.relevant for each in signals)
    if good >= section.least_good:
        return None
    return Refusal(
        NotTrained.TOO_FEW_GOOD,
        f"{len(signals):,} results have feedback, but only {good:,} of them are good (grade {section.grades.relevant} "
        f"or more), and it takes {section.least_good:,}: {section.least_good - good:,} are missing",
        len(signals),
        section.least_good - good,
    )


def _unfit(
    trained: Sequence[Group], to_judge: Sequence[Group], phase: Phase, section: TrainingSection, labelled: int
) -> Refusal | None:
    """Why no model comes of groups, for all that they are many enough."""
    if not trained:
        because = "all queries are among those held out; feedback on more different queries is needed"
        return Refusal(NotTrained.TOO_FEW_QUERIES, because, labelled)
    if phase is Phase.BINARY:
        good = np.concatenate([group.grades >= section.grades.relevant for group in trained])
        tells = bool(good.any() and not good.all())
    else:
        tells = any(np.ptp(group.grades) > 0 for group in trained)
    if not tells:
        because = "no result is better than another by its feedback: good and poor ones are needed, also in one request"
        return Refusal(NotTrained.NOTHING_TO_LEARN, because, labelled)
    if not to_judge:
        because = (
            f"none of the queries held out (about {section.held_out:.0%} of all, by a hash of their text) has results "
            "with different grades, so no model could be judged; feedback on more different queries is needed"
        )
        return Refusal(NotTrained.TOO_FEW_QUERIES, because, labelled)
    return None


def _scored(model: RankingModel, groups: Sequence[Group]) -> list[NDArray[np.float32]]:
    return [model.score(group.features.astype(np.float64)) for group in groups]


def _ordered(groups: Sequence[Group], scored: Sequence[NDArray[np.float32]]) -> list[list[int]]:
    return [ordered_grades(group, scores) for group, scores in zip(groups, scored, strict=True)]


def _counted(groups: Sequence[Group]) -> tuple[int, int]:
    return len(groups), len({group.query for group in groups})


def _period(joined: Joined) -> tuple[datetime, datetime] | None:
    times = [request.at for request in joined.requests if request.at is not None]
    return (min(times), max(times)) if times else None


def _manifest(
    model: str,
    phase: Phase,
    features: int,
    joined: Joined,
    period: tuple[datetime, datetime] | None,
    features_config: str | None,
) -> Manifest:
    digest = hashlib.sha256(model.encode()).hexdigest()
    version = FEATURES_VERSIONS[features]
    when = f", {period[0]:%Y-%m-%d} to {period[1]:%Y-%m-%d}" if period else ""
    return Manifest(
        name="feedback",
        version=digest[:12],
        phase=phase,
        features_version=version,
        features=FEATURES_OF[version],
        sha256=digest,
        features_config=features_config,
        trained_on=f"Feedback on {joined.labelled:,} results of {len(joined.requests):,} requests{when}.",
        licence="That of the feedback and of the pages it is about; nothing of either is in the model but thresholds.",
    )
