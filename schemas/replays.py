"""The ledger of replays: plans of operators, their limits, and their state.

Each change of a plan is one event on a compacted topic under the plan's name, so any process on any machine knows the
plan and can continue it. The ledger does not hold the progress of each partition: the plan's own consumer groups do, in
the transactions that wrote the results.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from schemas.event import Event, Many, Part, Text

PLAN_NAME = r"^[a-z0-9][a-z0-9_-]{0,47}$"
"""Valid plan names: the name becomes a part of topics, consumer groups and collections."""


class ReplayState(StrEnum):
    """The state of a replay. Only earlier releases wrote ``promoting`` and ``promoted``."""

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    DROPPED = "dropped"


class ReplayTarget(StrEnum):
    """Where a replay writes its results: to its own shadow topics, or to the live topics."""

    SHADOW = "shadow"
    LIVE = "live"


class OffsetRange(Part):
    """Records of one partition.

    Attributes:
        partition: Its number.
        start: The first offset of the range.
        end: The first offset after the range; equal to ``start`` if the range is empty.
    """

    partition: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _is_no_less_than_nothing(self) -> Self:
        if self.end < self.start:
            raise ValueError("a range ends before it starts")
        return self


class TopicRanges(Part):
    """Records of one topic.

    Attributes:
        topic: Its name on the cluster, without the prefix.
        ranges: One for each partition.
    """

    topic: str
    ranges: Many[OffsetRange]


class ReplaySelection(Part):
    """Which records in the ranges are selected; an empty or null field selects all.

    Attributes:
        keys: Record keys.
        domains: Registrable domains of the page, the target, or one of the results.
        tiers: Source tiers or index tiers, of the event or of the handler's earlier decision on it.
        outcomes: How the handler's last decision on the record ended: a value of the decision's usual field,
            ``FIELD=VALUE``, or ``none`` where there is no decision.
        judged_by: The judge of that decision: ``model`` or ``offline``.
    """

    keys: Many[Text] = ()
    domains: Many[Text] = ()
    tiers: Many[Text] = ()
    outcomes: Many[Text] = ()
    judged_by: Text | None = None


class ReplayStage(Part):
    """One handler of a replay, and what it reads.

    Attributes:
        handler: Its name.
        topic: The topic that it reads, without the prefix.
        ranges: The records, one range per partition.
        decisions: The offset ranges of the handler's earlier decisions, so that a resumed replay selects the same
            records; empty if the selection does not use decisions.
        config_version: Hash of the rules that its decisions use.
        judge: The name of a language model, or ``offline`` for the offline judge; null if the handler asks no model.
        rewritten: Topics that it writes, without the prefix; it withholds outputs to other topics.
        begun: Whether its consumer group has been set to the start of the ranges. From then on the group's offsets
            are the progress of the stage.
        deleted: Records of its ranges that retention deleted before the stage read them.
        promoting: Topics to which an earlier release copied its results; always empty in new plans.
    """

    handler: str
    topic: str
    ranges: Many[OffsetRange] = ()
    decisions: Many[TopicRanges] = ()
    config_version: str
    judge: Text | None = None
    rewritten: Many[str] = ()
    begun: bool = False
    deleted: Many[OffsetRange] = ()
    promoting: Many[str] = ()


class ReplayPlan(Event):
    """A replay and its state; the newest event of a plan holds its current state.

    Attributes:
        plan: Its name.
        run: The value of the header ``assay_run`` of every record that it writes.
        detail: The reason for the state, for people; may be "".
        stages: The handler. Plans of earlier releases may have several, each before those that read its output.
        stage: Index of the current stage, from 0; the number of stages when all are done.
        selection: Which records are selected.
        target: Where it writes its results.
        rate: Largest number of records per second of all its processes; null for no limit.
        max_cost_usd: Largest cost of models; null if no model is asked.
        give_way: Whether it pauses while live traffic is late.
        fetch: Whether it may fetch pages from the web.
        created_at: When it was made, UTC.
        updated_at: When this event was written, UTC.
    """

    plan: str = Field(pattern=PLAN_NAME)
    run: Text
    state: ReplayState
    detail: Text = ""
    stages: Many[ReplayStage]
    stage: int = Field(default=0, ge=0)
    selection: ReplaySelection = ReplaySelection()
    target: ReplayTarget = ReplayTarget.SHADOW
    rate: float | None = Field(default=None, gt=0)
    max_cost_usd: float | None = Field(default=None, ge=0)
    give_way: bool = True
    fetch: bool = False
    created_at: datetime
    updated_at: datetime

    @property
    def is_done(self) -> bool:
        """Whether it was finished; it may have been dropped since."""
        return self.stage > 0
