"""The dashboard of replays and of groups seen from outside, also those that are stopped."""

from __future__ import annotations

from streams.generate.expressions import RANGE, REPLAY, Aggregate, increase, once, rate
from streams.generate.panels import PICKED, Dashboard, Panel, Row, counted, single, stands
from streams.telemetry import metric_defs as defs
from streams.telemetry.metric_defs import MetricDef


def replays() -> Dashboard:
    """Replays and backfills, and what is left to every group."""
    return Dashboard(
        name="replays",
        title="Assay: replays",
        note="How far replays are and what they cost, apart from live traffic, and how far every group is behind.",
        by_handler=True,
        rows=(Row(title="Replays", panels=_replays()), Row(title="Groups, also stopped ones", panels=_groups())),
    )


def _replays() -> tuple[Panel, ...]:
    return (
        counted(
            "Records behind a replay",
            "Done again, or passed over because the plan does not mean them.",
            defs.REPLAY_RECORDS,
            "handler",
            "outcome",
            form="stack",
        ),
        stands("Records before a replay", "It falls to 0.", "sum", defs.REPLAY_REMAINING, "handler"),
        stands(
            "Gives way to live traffic",
            "1 while live traffic is late and the replay waits. Always 1: there is no room for it.",
            "max",
            defs.REPLAY_WAITING,
            "handler",
        ),
        Panel(
            title="Cost of replays",
            note="In the range shown; a replay stops at its --max-cost.",
            unit="currencyUSD",
            queries=single(increase(defs.REPLAY_COST, "handler", window=RANGE, handler=PICKED), "{{handler}}"),
            form="bars",
        ),
        Panel(
            title="Decisions of replays and backfills",
            note="Inputs done in the replay lane, by outcome. In the dashboards of handlers none of them is.",
            unit="cps",
            queries=single(
                rate(defs.HANDLER_EVENTS, "handler", "outcome", lane=REPLAY, handler=PICKED), "{{handler}} {{outcome}}"
            ),
            form="stack",
        ),
        Panel(
            title="Refused in replays and backfills",
            note="Dead letters of the replay lane; they wake nobody.",
            unit="short",
            queries=single(
                increase(defs.DEAD_EVENTS, "handler", "reason", window=RANGE, lane=REPLAY, handler=PICKED),
                "{{handler}} {{reason}}",
            ),
            form="bars",
        ),
    )


def _groups() -> tuple[Panel, ...]:
    """Told by ``assay lag --serve``."""
    return (
        _told("Lag, records", "Not committed, as seen from outside.", "sum", defs.GROUP_LAG, "short"),
        _told("Lag, seconds", "Age of the oldest record not committed.", "max", defs.GROUP_LAG_SECONDS, "s"),
        _told(
            "Until retention deletes what is unread",
            "A group that is stopped loses records when this reaches 0.",
            "min",
            defs.GROUP_RETENTION_LEFT,
            "s",
        ),
        _told("Lost to retention, records", "Deleted before they were read: 0.", "sum", defs.GROUP_LOST, "short"),
        _told("Members", "0: nobody reads.", "min", defs.GROUP_MEMBERS, "short"),
        _told("Dead letters standing", "Records in the dead letter topic.", "max", defs.TOPIC_DEAD_LETTERS, "short"),
    )


def _told(title: str, note: str, aggregate: Aggregate, metric: MetricDef, unit: str) -> Panel:
    """What readers of the lag tell of every group, each group once."""
    expression = once(aggregate, metric, "handler", handler=PICKED)
    return Panel(title=title, note=note, unit=unit, queries=single(expression, "{{handler}}"))
