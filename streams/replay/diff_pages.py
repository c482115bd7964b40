"""Compares scored pages under two configurations: a tier migration matrix, label changes and the first moved pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from schemas.outcome import Dead, Outcome
from schemas.pages import ScoredPage, Tier, TrustLabel
from streams.replay.diff import NO_DECISION, DeadTally, FirstFew, emitted, migration, no_decision

_TIERS, _LABELS = get_args(Tier), get_args(TrustLabel)
"""Best first."""
WAYS = ("up", "down", "into the dead letters", "out of the dead letters")
"""The directions in which a page can move between tiers."""


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
    components: tuple[ComponentChange, ...] = ()
    other_thresholds: bool = False
    detail_now: str = ""
    detail_then: str = ""


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
    before = {line.component: line for line in now.cts_breakdown}
    after = {line.component: line for line in then.cts_breakdown}
    changes = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        points_now, points_then = (line.points if line else 0 for line in (old, new))
        if points_now != points_then:
            because_now, because_then = (line.reason if line else "" for line in (old, new))
            changes.append(ComponentChange(name, points_now, points_then, because_now, because_then))
    return tuple(changes)


@dataclass(slots=True)
class PageDifferences:
    """Counts of pairs of outcomes. Of the moved pages, the first ``limit`` are kept.

    Attributes:
        tiers: Pages by tier now and tier then.
        labels: Pages by label now and label then, where they differ.
        moved: Pages with another tier or label.
        rescored: Pages with another score, in the same tier and with the same label.
        reread: Pages with the same score that differ in text, date, author or a reason.
        unchanged: Pages that differ in ``config_version`` only, and those that are dead under both.
    """

    limit: int
    inputs: int = 0
    tiers: Counter[tuple[str, str]] = field(default_factory=Counter)
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)
    moved: FirstFew[PageMove] = field(init=False)
    rescored: int = 0
    reread: int = 0
    unchanged: int = 0
    dead: DeadTally = field(default_factory=DeadTally)

    def __post_init__(self) -> None:
        """Applies the limit."""
        self.moved = FirstFew(self.limit)

    def add(self, now: Outcome, then: Outcome) -> None:
        """Counts the outcomes of one page."""
        self.inputs += 1
        self.dead.add(now, then)
        self.tiers[_tier(now), _tier(then)] += 1
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
        counts = dict.fromkeys((*WAYS, "label only"), 0)
        for (now, then), count in self.tiers.items():
            if way := way_of(now, then):
                counts[way] += count
        counts["label only"] = self.moved.count - sum(counts[way] for way in WAYS)
        return counts

    def to_wire(self) -> dict[str, Any]:
        """The counts and the kept pages, as plain JSON types."""
        return {
            "pages": self.inputs,
            "matrix": migration(self.tiers, _TIERS),
            "labels": [
                {"label_now": now, "label_then": then, "pages": count}
                for (now, then), count in sorted(self.labels.items())
            ],
            "moved_count": self.moved.count,
            "moved": [asdict(move) for move in self.moved.items],
            "more": self.moved.more,
            "rescored": self.rescored,
            "reread": self.reread,
            "unchanged": self.unchanged,
            "dead": self.dead.to_wire(),
        }


def way_of(now: str, then: str) -> str:
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
