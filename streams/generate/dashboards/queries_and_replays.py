"""Two dashboards: queries with their stages and results, and replays with all groups, stopped ones included."""

from __future__ import annotations

from streams.generate.panels import PICKED, Dashboard, Panel, Row, counted, single, slowest, stands
from streams.generate.promql import RANGE, REPLAY, Aggregate, increase, mean, once, rate
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


def queries() -> Dashboard:
    """Queries from request to results, over Kafka and HTTP."""
    return Dashboard(
        name="queries",
        title="Assay: queries",
        note="What is asked of the index, over Kafka and HTTP, how long that takes, what each stage does, and how far"
        " the results can be trusted. Replays are left out.",
        rows=(Row(title="Queries", panels=_asked()), Row(title="Stages and trust", panels=_answered())),
    )


def _asked() -> tuple[Panel, ...]:
    return (
        counted(
            "Queries, by outcome",
            "empty: nothing was found. busy and timeout: more is asked than this many workers can answer; unavailable:"
            " the index or the model is down.",
            defs.QUERIES,
            "outcome",
            form="stack",
        ),
        counted("Queries, by way", "Records of ranking.requested.v1, and /query.", defs.QUERIES, "via", form="stack"),
        counted(
            "Queries, by intent",
            "What answered queries were taken for; it decides how diverse results are.",
            defs.QUERIES,
            "intent",
            form="stack",
            intent="!",
        ),
        slowest(
            "Time of an answered query",
            "With what the judge takes: where a model ranks, most of it is the model's.",
            defs.QUERY_SECONDS,
            "via",
            shares=(0.5, 0.95),
        ),
    )


def _answered() -> tuple[Panel, ...]:
    return (
        counted(
            "Stages, by what they did",
            "failed: the order before it stood. skipped: it was not needed, or had nothing to do.",
            defs.QUERY_STAGES,
            "stage",
            "outcome",
        ),
        counted(
            "Results, by trust label",
            "What a model or a person is told of each.",
            defs.QUERY_RESULTS,
            "trust_label",
            form="stack",
        ),
        counted(
            "Results, by what their label rests on",
            "fallback: the page has no score, so the tier of its source stands in. It falls as an old index is filled"
            " again.",
            defs.QUERY_RESULTS,
            "label_source",
            form="stack",
        ),
        Panel(
            title="Share of HIGH among the first five",
            note="The mean over queries with results. It falls where the index has less to say than is asked.",
            unit="percentunit",
            queries=single(mean(defs.QUERY_HIGH_SHARE), "HIGH"),
        ),
        Panel(
            title="Trees in shadow: agreement",
            note="Share of the results shown that the trees would have shown as well; only with ranking.trees.mode:"
            " shadow. How good they are is for `assay train` to say.",
            unit="percentunit",
            queries=single(mean(defs.QUERY_TREES_AGREEMENT), "agreement"),
        ),
    )
