"""Compares a handler's decisions under two configurations: a matrix of counts, and the first of the differences.

``assay replay --diff`` and ``assay try --diff`` compare many inputs; the console compares two versions of a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeVar, get_args

from schemas.event import Event, Part
from schemas.extraction import ExtractionNeeded
from schemas.outcome import Dead, Emit, Outcome, Retry
from schemas.pages import ScoredPage, Tier
from schemas.retrieval import ResultsClassified, ResultType
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler
from streams.workers.handler_jobs import RawRecord, Trials

E = TypeVar("E", bound=Event)

NO_DECISION = ("dead", "drop", "retry")  # the name of an outcome that is no decision


@dataclass(frozen=True, slots=True)
class ComponentChange:
    """A component of the score that gives other points; a missing one has 0 points and no reason."""

    component: str
    points_now: int
    points_then: int
    because_now: str
    because_then: str


def component_changes(now: ScoredPage, then: ScoredPage) -> tuple[ComponentChange, ...]:
    """The components of two scores of a page that give different points, in the order of the breakdown."""
    lines_now, lines_then = (
        {line.component: (line.points, line.reason) for line in page.cts_breakdown} for page in (now, then)
    )
    pairs = ((name, lines_now.get(name, (0, "")), lines_then.get(name, (0, ""))) for name in lines_now | lines_then)
    return tuple(
        ComponentChange(name, points_now, points_then, because_now, because_then)
        for name, (points_now, because_now), (points_then, because_then) in pairs
        if points_now != points_then
    )


def emitted(outcome: Outcome, kind: type[E]) -> E | None:
    events = outcome.events if isinstance(outcome, Emit) else ()
    return next((event for event in events if isinstance(event, kind)), None)


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on one page, or on one result of a batch."""

    decision: str  # the tier or the type; of ``NO_DECISION`` without a decision
    url: str = ""
    batch_id: str = ""  # the batch of a result
    label: str = ""
    score: float | None = None
    because: str = ""  # why a result has its type, or why there is no decision
    content: Event | Part | None = None  # everything that was decided, but for the version of the rules

    def to_wire(self) -> dict[str, Any]:
        return {"decision": self.decision, "label": self.label, "score": self.score, "because": self.because}


class Change(NamedTuple):
    """A page or a result with another decision or label."""

    now: Decided
    then: Decided

    @property
    def url(self) -> str:
        return self.now.url or self.then.url

    @property
    def batch_id(self) -> str:
        return self.now.batch_id or self.then.batch_id

    @property
    def components(self) -> tuple[ComponentChange, ...]:
        now, then = self.now.content, self.then.content
        if isinstance(now, ScoredPage) and isinstance(then, ScoredPage) and None not in (now.cts_score, then.cts_score):
            return component_changes(now, then)
        return ()

    @property
    def by_threshold(self) -> bool:
        """Whether the score stays, so that a threshold explains the change."""
        return bool(self.now.label and self.then.label) and self.now.score == self.then.score is not None

    def to_wire(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "batch_id": self.batch_id,
            "now": self.now.to_wire(),
            "then": self.then.to_wire(),
            "components": [asdict(component) for component in self.components],
        }


class Kind(NamedTuple):
    """How decisions of a kind are compared."""

    unit: str  # the inputs of the handler, in the plural
    names: Sequence[str]  # the decisions, in the order of the matrix
    # The decisions of an outcome by their place; empty without a decision.
    decisions: Callable[[Outcome], dict[Any, Decided]]


@dataclass
class Comparison:
    """Counts pairs of outcomes of the same inputs, in bounded memory: the first ``limit`` changes are kept."""

    kind: Kind
    limit: int
    inputs: int = 0
    decisions: Counter[tuple[str, str]] = field(default_factory=Counter)
    # Pairs by label now and label then, where they differ; ``decisions`` has all pairs.
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)  # the first changes; ``changed`` counts all
    changed: int = 0
    rescored: int = 0  # those with another score and the same decision
    reread: int = 0  # those with the same score that differ in text, date, author or a reason
    unchanged: int = 0  # those that differ in ``config_version`` only, or have no decision under both
    # Dead letters by reason, under the configuration ``now`` and ``then``.
    dead: dict[str, Counter[str]] = field(default_factory=lambda: {"now": Counter(), "then": Counter()})
    # Listings that are fetched ``now`` and ``then``.
    fetches: Counter[str] = field(default_factory=lambda: Counter(now=0, then=0))

    def add(self, now: Outcome, then: Outcome) -> None:
        self.inputs += 1
        for when, outcome in (("now", now), ("then", then)):
            if isinstance(outcome, Dead):
                self.dead[when][outcome.reason.value] += 1
            events = outcome.events if isinstance(outcome, Emit) else ()
            self.fetches[when] += sum(isinstance(event, ExtractionNeeded) for event in events)
        decided, others = self.kind.decisions(now), self.kind.decisions(then)
        absent, absent_then = _without_decision(now), _without_decision(then)
        for place in decided | others or (None,):
            self._count(Change(decided.get(place, absent), others.get(place, absent_then)))

    def _count(self, pair: Change) -> None:
        now, then = pair
        self.decisions[now.decision, then.decision] += 1
        if now.label and then.label and now.label != then.label:
            self.labels[now.label, then.label] += 1
        if (now.decision, now.label) != (then.decision, then.label):
            self.changed += 1
            if len(self.changes) < self.limit:
                self.changes.append(pair)
        elif now.score != then.score:
            self.rescored += 1
        elif now.content != then.content:
            self.reread += 1
        else:
            self.unchanged += 1

    @property
    def more(self) -> int:
        return self.changed - len(self.changes)

    @property
    def matrix(self) -> dict[str, dict[str, int]]:
        """A row for each decision now, a column for each decision then, ``dead`` included."""
        seen = {name for pair in self.decisions for name in pair}
        shown = [*self.kind.names, "dead", *(name for name in NO_DECISION[1:] if name in seen)]
        return {now: {then: self.decisions[now, then] for then in shown} for now in shown}

    def to_wire(self) -> dict[str, Any]:
        return {
            self.kind.unit: self.inputs,
            "matrix": self.matrix,
            "labels": [{"now": now, "then": then, "count": n} for (now, then), n in sorted(self.labels.items())],
            "moved_count": self.changed,
            "moved": [change.to_wire() for change in self.changes],
            "more": self.more,
            "rescored": self.rescored,
            "reread": self.reread,
            "unchanged": self.unchanged,
            "dead": {when: dict(counts) for when, counts in self.dead.items()},
            "extractions": dict(self.fetches),
        }


def _pages(outcome: Outcome) -> dict[Any, Decided]:
    page = emitted(outcome, ScoredPage)
    if page is None:
        return {}
    content = page.model_copy(update={"config_version": ""})
    return {page.url: Decided(page.tier, page.url, "", page.trust_label, page.cts_score, content=content)}


def _results(outcome: Outcome) -> dict[Any, Decided]:
    batch = emitted(outcome, ResultsClassified)
    if batch is None:
        return {}
    return {
        number: Decided(
            result.result_type.value,
            result.url,
            batch.batch_id,
            score=result.actionable_score,
            because="; ".join(result.reasons[:3]),
            content=result,
        )
        for number, result in enumerate(batch.results)
    }


KINDS = {
    ScoredPage: Kind("pages", get_args(Tier), _pages),
    ResultsClassified: Kind("batches", tuple(kind.value for kind in ResultType), _results),
}
"""By the event of the decision."""


def comparison_of(handler: Handler, limit: int) -> Comparison | None:
    found = (KINDS[topic.event] for topic in handler.emits if topic.event in KINDS)
    return next((Comparison(kind, limit) for kind in found), None)


def not_comparable(name: str) -> str:
    able = " and ".join(handler.name for handler in HANDLERS if comparison_of(handler, 0))
    return f"--diff compares decisions of {able}, not of {name}; leave --diff out"


async def compare(
    settings: Settings,
    other: Settings,
    handler: Handler,
    sources: AsyncGenerator[Event | RawRecord | Dead],
    comparison: Comparison,
) -> None:
    """Decides every source under both configurations, and feeds the comparison; a ``Dead`` source stays dead.

    The limits of the workers are those of ``settings``, so that only the rules differ.
    Raises SettingsError if sections of a configuration contradict each other.
    """
    rules = [configuration.rules(handler.rules) for configuration in (settings, other)]
    async with Trials(handler, rules, settings.workers, "fork") as trials, aclosing(sources):
        async for source in sources:
            if isinstance(source, Dead):
                comparison.add(source, source)
            else:
                comparison.add(await trials.outcome(source, 0), await trials.outcome(source, 1))


def _without_decision(outcome: Outcome) -> Decided:
    if isinstance(outcome, Dead):
        return Decided("dead", because=f"{outcome.reason}: {outcome.detail}")
    return Decided("retry" if isinstance(outcome, Retry) else "drop")
