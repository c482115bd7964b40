"""Compares classified batches under two configurations: results of another type, and listings fetched more or less."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

from schemas.extraction import ExtractionNeeded
from schemas.outcome import Emit, Outcome
from schemas.retrieval import ClassifiedResult, ResultsClassified, ResultType
from streams.replay.diff import DeadTally, FirstFew, emitted, migration, no_decision


@dataclass(frozen=True, slots=True)
class ResultFlip:
    """A result of another type; the type is ``dead`` where its batch is a dead letter."""

    batch_id: str
    url: str
    type_now: str
    type_then: str
    score_now: float | None
    score_then: float | None
    because_now: tuple[str, ...]
    because_then: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtractionChange:
    """A batch for which other listings are fetched."""

    batch_id: str
    query: str
    more: tuple[str, ...]
    fewer: tuple[str, ...]


@dataclass(slots=True)
class ResultsDifferences:
    """Counts of pairs of outcomes. Of flips and of changed extractions, the first ``limit`` are kept.

    Attributes:
        types: Results by type now and type then; a batch that is a dead letter counts once, as ``dead``.
        moved: Results of another type.
        rescored: Results of the same type with another actionable score.
        unchanged: Batches that differ in ``config_version`` only, and those that are dead under both.
        extractions: Batches for which other listings are fetched.
    """

    limit: int
    inputs: int = 0
    types: Counter[tuple[str, str]] = field(default_factory=Counter)
    moved: FirstFew[ResultFlip] = field(init=False)
    rescored: int = 0
    unchanged: int = 0
    extractions_now: int = 0
    extractions_then: int = 0
    extractions: FirstFew[ExtractionChange] = field(init=False)
    dead: DeadTally = field(default_factory=DeadTally)

    def __post_init__(self) -> None:
        """Applies the limit."""
        self.moved = FirstFew(self.limit)
        self.extractions = FirstFew(self.limit)

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the outcomes of one batch."""
        self.inputs += 1
        self.dead.add(now, then)
        batch, other = emitted(now, ResultsClassified), emitted(then, ResultsClassified)
        if (known := batch or other) is None:
            self.types[no_decision(now), no_decision(then)] += 1
            self.unchanged += 1
            return
        for result, new in zip_longest(batch.results if batch else (), other.results if other else ()):
            self._compare(known.batch_id, result, new, (no_decision(now), no_decision(then)))
        self._compare_extractions(known, _targets(now), _targets(then))
        if batch and other:
            self.unchanged += batch == other.model_copy(update={"config_version": batch.config_version})

    def _compare(
        self, batch_id: str, now: ClassifiedResult | None, then: ClassifiedResult | None, absent: tuple[str, str]
    ) -> None:
        type_now, type_then = (
            result.result_type.value if result else name for result, name in zip((now, then), absent, strict=True)
        )
        self.types[type_now, type_then] += 1
        if now and then and type_now == type_then:
            self.rescored += now.actionable_score != then.actionable_score
            return
        known = now or then
        self.moved.add(
            ResultFlip(
                batch_id=batch_id,
                url=known.url if known else "",
                type_now=type_now,
                type_then=type_then,
                score_now=now.actionable_score if now else None,
                score_then=then.actionable_score if then else None,
                because_now=now.reasons if now else (),
                because_then=then.reasons if then else (),
            )
        )

    def _compare_extractions(self, batch: ResultsClassified, now: tuple[str, ...], then: tuple[str, ...]) -> None:
        self.extractions_now += len(now)
        self.extractions_then += len(then)
        before, after = frozenset(now), frozenset(then)
        more = tuple(url for url in then if url not in before)
        fewer = tuple(url for url in now if url not in after)
        if more or fewer:
            self.extractions.add(ExtractionChange(batch.batch_id, batch.query, more, fewer))

    def to_wire(self) -> dict[str, Any]:
        """The counts and the kept differences, as plain JSON types."""
        return {
            "batches": self.inputs,
            "matrix": migration(self.types, [kind.value for kind in ResultType]),
            "moved_count": self.moved.count,
            "moved": [asdict(flip) for flip in self.moved.items],
            "more": self.moved.more,
            "rescored": self.rescored,
            "unchanged": self.unchanged,
            "extractions": {
                "now": self.extractions_now,
                "then": self.extractions_then,
                "changed_count": self.extractions.count,
                "changed": [asdict(change) for change in self.extractions.items],
                "more": self.extractions.more,
            },
            "dead": self.dead.to_wire(),
        }


def _targets(outcome: Outcome) -> tuple[str, ...]:
    """The listings that an outcome wants fetched."""
    events = outcome.events if isinstance(outcome, Emit) else ()
    return tuple(event.target_url for event in events if isinstance(event, ExtractionNeeded))
