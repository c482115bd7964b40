"""The ledger of replays: what is done again, how far it may go, and where it stands.

In goes a plan that an operator made; out comes one event a change of its state, on a compacted topic under the plan's
name, so that any process on any machine knows the plan and can go on with it. How far each partition has come is not
written here: the plan's own consumer groups have that, in the transactions that wrote the results.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from schemas.event import Event, Many, Text

PLAN_NAME = r"^[a-z0-9][a-z0-9_-]{0,47}$"
"""What a plan may be called: its name becomes a part of topics, consumer groups and collections."""


class ReplayState(StrEnum):
    """Where a replay stands."""

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    DROPPED = "dropped"


class ReplayTarget(StrEnum):
    """Where a replay's results go: to topics of its own, or to those that everybody reads."""

    SHADOW = "shadow"
    LIVE = "live"


class OffsetRange(Event):
    """Records of one partition.

    Attributes:
        partition: Its number.
        start: The first offset that is meant.
        end: The first offset that is not meant any more; equal to ``start`` where nothing is.
    """

    partition: int = Field(ge=0)
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _is_no_less_than_nothing(self) -> Self:
        if self.end < self.start:
            raise ValueError("a range ends before it starts")
        return self


class TopicRanges(Event):
    """Records of one topic.

    Attributes:
        topic: As it is named on the cluster, without the prefix.
        ranges: One for each partition.
    """

    topic: str
    ranges: Many[OffsetRange]


class ReplaySelection(Event):
    """Which of the records in the ranges are meant; what is empty or null leaves the choice open.

    Attributes:
        keys: Record keys.
        domains: Registrable domains of the page, the target, or one of the results.
        tiers: Source tiers or index tiers, of the event or of the handler's earlier decision on it.
        outcomes: How the handler's last decision on the record ended: a value of the decision's usual field,
            ``FIELD=VALUE``, or ``none`` where there is no decision.
        judged_by: Who made that decision: ``model`` or ``offline``.
    """

    keys: Many[Text] = ()
    domains: Many[Text] = ()
    tiers: Many[Text] = ()
    outcomes: Many[Text] = ()
    judged_by: Text | None = None


class ReplayStage(Event):
    """One handler of a replay, and what it reads.

    Attributes:
        handler: Its name.
        topic: What it reads, without the prefix: its own topic, or the shadow that an earlier stage writes.
        ranges: The records, one range a partition; empty until the stages before it are done.
        decisions: How far the handler's earlier decisions are looked at, so that a resumed replay means the same
            records; empty where the selection does not ask for them.
        config_version: Hash of the rules it decides under.
        judge: Who is asked: the name of a language model, or ``offline`` for the offline judge; null where the handler
            asks nobody that is paid.
        rewritten: Topics it writes, without the prefix; what it writes elsewhere is withheld.
        begun: Whether its consumer group has been set to where the ranges start. From then on the group's offsets are
            the truth about how far it has come.
        deleted: What retention deleted of its ranges before it could be read.
        promoting: Live topics to which the copying of what it wrote has begun, each by a group of its own.
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
    """A replay and its state; the newest event of a plan is the truth about it.

    Attributes:
        plan: Its name.
        run: Stands in the header ``assay_run`` of everything it writes.
        state: Where it stands.
        detail: Why it stands there, for people; "" where that needs no words.
        stages: The handlers, each before those that read what it writes.
        stage: Which of them is being worked on, from 0; their number when all are done.
        selection: Which of the records are meant; only for stages that read what was not written by this plan.
        target: Where results go.
        rate: Records a second at most, of all its processes; null for as fast as it goes.
        max_cost_usd: What models may cost; null where none is asked.
        give_way: Whether it waits while live traffic is late.
        fetch: Whether it may reach the open web.
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
