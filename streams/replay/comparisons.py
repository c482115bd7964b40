"""Compares a handler's decisions under two configurations: a migration matrix, and the first of the differences.

Pages move between tiers and labels. Classified results change their type, and other listings are fetched for a batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any, ClassVar, Generic, TypeVar, get_args

from schemas.event import Event
from schemas.extraction import ExtractionNeeded
from schemas.needs import Ask
from schemas.outcome import Dead, DeadReason, Emit, Outcome, Retry
from schemas.pages import ScoredPage, Tier, TrustLabel
from schemas.retrieval import ClassifiedResult, ResultsClassified, ResultType
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler
from streams.workers.handler_jobs import RawRecord, answer_in, forked_pool

T = TypeVar("T")
E = TypeVar("E", bound=Event)

_TIERS, _LABELS = get_args(Tier), get_args(TrustLabel)
"""Best first."""
NO_DECISION = ("dead", "drop", "retry")
"""The name of an outcome that is no decision."""
WAYS = ("up", "down", "into the dead letters", "out of the dead letters")
"""The directions in which a page can move between tiers."""


@dataclass(slots=True)
class FirstFew(Generic[T]):
    """The first ``limit`` items of many, and how many there were."""

    limit: int
    items: list[T] = field(default_factory=list)
    count: int = 0

    def add(self, item: T) -> None:
        self.count += 1
        if len(self.items) < self.limit:
            self.items.append(item)

    @property
    def more(self) -> int:
        return self.count - len(self.items)


@dataclass
class Comparison(ABC, Generic[T]):
    """Counts pairs of outcomes of the same inputs, in bounded memory: of the moved ones the first ``limit`` are kept.

    Attributes:
        decisions: Pairs by decision now and decision then, of ``names`` and ``NO_DECISION``.
        rescored: Those with another score and the same decision.
        unchanged: Inputs whose outcomes differ in ``config_version`` only, and those that are dead under both.
        dead: Dead letters by reason, under the configuration ``now`` and ``then``.
    """

    unit: ClassVar[str]
    """The inputs, in the plural."""
    names: ClassVar[Sequence[str]]

    limit: int
    inputs: int = 0
    decisions: Counter[tuple[str, str]] = field(default_factory=Counter)
    moved: FirstFew[T] = field(init=False)
    rescored: int = 0
    unchanged: int = 0
    dead: dict[str, Counter[str]] = field(default_factory=lambda: {"now": Counter(), "then": Counter()})

    def __post_init__(self) -> None:
        self.moved = FirstFew(self.limit)

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the outcomes of one input under the configuration now and under the other one."""
        self.inputs += 1
        for when, outcome in (("now", now), ("then", then)):
            if isinstance(outcome, Dead):
                self.dead[when][outcome.reason.value] += 1
        self._compare(now, then)

    @abstractmethod
    def _compare(self, now: Outcome, then: Outcome) -> None: ...

    @property
    def matrix(self) -> dict[str, dict[str, int]]:
        """A row for each decision now, a column for each decision then, ``dead`` included."""
        seen = {name for pair in self.decisions for name in pair}
        shown = [*self.names, "dead", *(name for name in NO_DECISION[1:] if name in seen)]
        return {now: {then: self.decisions[now, then] for then in shown} for now in shown}

    def to_wire(self) -> dict[str, Any]:
        return {
            self.unit: self.inputs,
            "matrix": self.matrix,
            "moved_count": self.moved.count,
            "moved": [asdict(move) for move in self.moved.items],  # type: ignore[call-overload] # data classes
            "more": self.moved.more,
            "rescored": self.rescored,
            "unchanged": self.unchanged,
            "dead": {when: dict(counts) for when, counts in self.dead.items()},
        }


def emitted(outcome: Outcome, kind: type[E]) -> E | None:
    """The first event of a type, where the outcome has one."""
    events = outcome.events if isinstance(outcome, Emit) else ()
    return next((event for event in events if isinstance(event, kind)), None)


def no_decision(outcome: Outcome) -> str:
    """The name in ``NO_DECISION`` of an outcome without the wanted event."""
    return "dead" if isinstance(outcome, Dead) else "retry" if isinstance(outcome, Retry) else "drop"


# --- pages -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ComponentChange:
    """A component of the score that gives other points; a missing one has 0 points and no reason."""

    component: str
    points_now: int
    points_then: int
    because_now: str
    because_then: str


@dataclass(frozen=True, slots=True)
class PageMove:
    """A page whose tier or label changes, or that is a dead letter under one configuration alone.

    Attributes:
        tier_now: The tier, or ``dead`` where there is no score; score and label are None then.
        components: Those that give other points.
        other_thresholds: Whether the score alone does not explain the move: it is the same, or went the other way.
        detail_now: Why the page is dead, else "".
    """

    url: str
    score_now: int | None
    score_then: int | None
    tier_now: str
    tier_then: str
    label_now: str | None
    label_then: str | None
    components: tuple[ComponentChange, ...]
    other_thresholds: bool
    detail_now: str
    detail_then: str


def page_move(now: Outcome, then: Outcome) -> PageMove | None:
    """How a page moves; None where tier and label stay, or it is dead under both configurations."""
    page, other = emitted(now, ScoredPage), emitted(then, ScoredPage)
    known = page or other
    if known is None or (page and other and (page.tier, page.trust_label) == (other.tier, other.trust_label)):
        return None
    return PageMove(
        url=known.url,
        score_now=page.cts_score if page else None,
        score_then=other.cts_score if other else None,
        tier_now=_tier(now),
        tier_then=_tier(then),
        label_now=page.trust_label if page else None,
        label_then=other.trust_label if other else None,
        components=component_changes(page, other) if page and other else (),
        other_thresholds=bool(page and other and _against_the_score(page, other)),
        detail_now=_detail(now),
        detail_then=_detail(then),
    )


def component_changes(now: ScoredPage, then: ScoredPage) -> tuple[ComponentChange, ...]:
    """The components of two scores of a page that give different points, in the order of the breakdown."""
    before = {line.component: (line.points, line.reason) for line in now.cts_breakdown}
    after = {line.component: (line.points, line.reason) for line in then.cts_breakdown}
    changes = []
    for name in before | after:
        (points_now, because_now), (points_then, because_then) = before.get(name, (0, "")), after.get(name, (0, ""))
        if points_now != points_then:
            changes.append(ComponentChange(name, points_now, points_then, because_now, because_then))
    return tuple(changes)


@dataclass
class PageDifferences(Comparison[PageMove]):
    """Of scored pages. A page that moves has another tier or label.

    Attributes:
        labels: Pages by label now and label then, where they differ.
        reread: Pages with the same score that differ in text, date, author or a reason.
    """

    unit = "pages"
    names = _TIERS

    labels: Counter[tuple[str, str]] = field(default_factory=Counter)
    reread: int = 0

    def _compare(self, now: Outcome, then: Outcome) -> None:
        self.decisions[_tier(now), _tier(then)] += 1
        page, other = emitted(now, ScoredPage), emitted(then, ScoredPage)
        if page and other and page.trust_label != other.trust_label:
            self.labels[page.trust_label, other.trust_label] += 1
        if move := page_move(now, then):
            self.moved.add(move)
        elif page is None or other is None or page == other.model_copy(update={"config_version": page.config_version}):
            self.unchanged += 1
        elif page.cts_score != other.cts_score:
            self.rescored += 1
        else:
            self.reread += 1

    @property
    def ways(self) -> dict[str, int]:
        """The moved pages by direction: one of ``WAYS``, or ``label only``."""
        counts = dict.fromkeys(WAYS, 0)
        for (now, then), count in self.decisions.items():
            if way := _way(now, then):
                counts[way] += count
        return counts | {"label only": self.moved.count - sum(counts.values())}

    def to_wire(self) -> dict[str, Any]:
        labels = [{"label_now": now, "label_then": then, "pages": n} for (now, then), n in sorted(self.labels.items())]
        return super().to_wire() | {"labels": labels, "reread": self.reread}


def _way(now: str, then: str) -> str:
    """The direction between two tiers: one of ``WAYS``, or "" for the same tier."""
    if now == then:
        return ""
    if now in NO_DECISION or then in NO_DECISION:
        return "out of the dead letters" if now in NO_DECISION else "into the dead letters"
    return "up" if then < now else "down"


def _against_the_score(now: ScoredPage, then: ScoredPage) -> bool:
    """Whether tier or label goes up without a higher score, or down without a lower one."""
    if now.cts_score is None or then.cts_score is None:
        return False
    risen = then.cts_score - now.cts_score
    tier = _TIERS.index(now.tier) - _TIERS.index(then.tier)
    label = _LABELS.index(now.trust_label) - _LABELS.index(then.trust_label)
    return any(step and step * risen <= 0 for step in (tier, label))


def _tier(outcome: Outcome) -> str:
    page = emitted(outcome, ScoredPage)
    return page.tier if page else no_decision(outcome)


def _detail(outcome: Outcome) -> str:
    return f"{outcome.reason}: {outcome.detail}" if isinstance(outcome, Dead) else ""


# --- classified results ----------------------------------------------------------------------------------------------


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


@dataclass
class ResultsDifferences(Comparison[ResultFlip]):
    """Of classified batches. The decisions are those on results; a batch that is a dead letter counts as one.

    Attributes:
        extractions: Batches for which other listings are fetched; the first ``limit`` are kept.
    """

    unit = "batches"
    names = tuple(kind.value for kind in ResultType)

    extractions_now: int = 0
    extractions_then: int = 0
    extractions: FirstFew[ExtractionChange] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.extractions = FirstFew(self.limit)

    def _compare(self, now: Outcome, then: Outcome) -> None:
        batch, other = emitted(now, ResultsClassified), emitted(then, ResultsClassified)
        absent = no_decision(now), no_decision(then)
        if (known := batch or other) is None:
            self.decisions[absent] += 1
            self.unchanged += 1
            return
        for result, new in zip_longest(batch.results if batch else (), other.results if other else ()):
            self._compare_results(known.batch_id, result, new, absent)
        self._compare_extractions(known, _targets(now), _targets(then))
        if batch and other:
            self.unchanged += batch == other.model_copy(update={"config_version": batch.config_version})

    def _compare_results(
        self, batch_id: str, now: ClassifiedResult | None, then: ClassifiedResult | None, absent: tuple[str, str]
    ) -> None:
        type_now = now.result_type.value if now else absent[0]
        type_then = then.result_type.value if then else absent[1]
        self.decisions[type_now, type_then] += 1
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
        more, fewer = _missing(then, now), _missing(now, then)
        if more or fewer:
            self.extractions.add(ExtractionChange(batch.batch_id, batch.query, more, fewer))

    def to_wire(self) -> dict[str, Any]:
        extractions = {
            "now": self.extractions_now,
            "then": self.extractions_then,
            "changed_count": self.extractions.count,
            "changed": [asdict(change) for change in self.extractions.items],
            "more": self.extractions.more,
        }
        return super().to_wire() | {"extractions": extractions}


def _targets(outcome: Outcome) -> tuple[str, ...]:
    events = outcome.events if isinstance(outcome, Emit) else ()
    return tuple(event.target_url for event in events if isinstance(event, ExtractionNeeded))


def _missing(urls: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    found = frozenset(others)
    return tuple(url for url in urls if url not in found)


# --- by handler ------------------------------------------------------------------------------------------------------

_COMPARISONS = {ScoredPage: PageDifferences, ResultsClassified: ResultsDifferences}
"""By the event of the decision."""


def comparison_of(handler: Handler, limit: int) -> Comparison[Any] | None:
    """An empty comparison of a handler's decisions; None if decisions of its kind cannot be compared."""
    found = (_COMPARISONS[topic.event] for topic in handler.emits if topic.event in _COMPARISONS)
    return next((comparison(limit) for comparison in found), None)


def comparable() -> list[Handler]:
    return [handler for handler in HANDLERS if comparison_of(handler, 0)]


async def compare(
    settings: Settings,
    other: Settings,
    handler: Handler,
    sources: AsyncGenerator[Event | RawRecord | Dead],
    comparison: Comparison[Any],
) -> None:
    """Decides every source under both configurations, and feeds the comparison; a ``Dead`` source stays dead.

    The limits of the workers are those of ``settings``, so that only the rules differ.

    Raises:
        SettingsError: Sections of a configuration contradict each other.
    """
    now, then = settings.rules(handler.rules), other.rules(handler.rules)
    async with (
        forked_pool([(handler, now)], settings.workers) or nullcontext() as pool_now,
        forked_pool([(handler, then)], settings.workers) or nullcontext() as pool_then,
        aclosing(sources),
    ):
        async for source in sources:
            if isinstance(source, Dead):
                comparison.add(source, source)
                continue
            outcomes = []
            for pool, rules in ((pool_now, now), (pool_then, then)):
                answer = (await answer_in(pool, handler, rules, source)).of
                if isinstance(answer, Ask):
                    answer = Dead(DeadReason.HANDLER_BUG, f"{handler.name} has no reader and asks")
                outcomes.append(answer)
            comparison.add(*outcomes)
