"""Two dashboards: queries with their stages and results, and replays with all groups, stopped ones included."""

from __future__ import annotations

from streams.generate.panels import PICKED, Dashboard, Panel, Row, counted, single, slowest, stands
from streams.generate.promql import RANGE, REPLAY, Aggregate, increase, mean, once, rate
from streams.telemetry.metrics import MetricDef, Metrics


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
            Metrics.replay_records_total,
            "handler",
            "outcome",
            form="stack",
        ),
        stands("Records before a replay", "It falls to 0.", "sum", Metrics.replay_remaining_records, "handler"),
        stands(
            "Gives way to live traffic",
            "1 while live traffic is late and the replay waits. Always 1: there is no room for it.",
            "max",
            Metrics.replay_waiting,
            "handler",
        ),
        Panel(
            title="Cost of replays",
            note="In the range shown; a replay stops at its --max-cost.",
            unit="currencyUSD",
            queries=single(
                increase(Metrics.replay_cost_usd_total, "handler", window=RANGE, handler=PICKED), "{{handler}}"
            ),
            form="bars",
        ),
        Panel(
            title="Decisions of replays and backfills",
            note="Inputs done in the replay lane, by outcome. In the dashboards of handlers none of them is.",
            unit="cps",
            queries=single(
                rate(Metrics.handler_events_total, "handler", "outcome", lane=REPLAY, handler=PICKED),
                "{{handler}} {{outcome}}",
            ),
            form="stack",
        ),
        Panel(
            title="Refused in replays and backfills",
            note="Dead letters of the replay lane; they wake nobody.",
            unit="short",
            queries=single(
                increase(Metrics.dead_events_total, "handler", "reason", window=RANGE, lane=REPLAY, handler=PICKED),
                "{{handler}} {{reason}}",
            ),
            form="bars",
        ),
    )


def _groups() -> tuple[Panel, ...]:
    """Told by ``assay lag --serve``."""
    return (
        _told("Lag, records", "Not committed, as seen from outside.", "sum", Metrics.group_lag_records, "short"),
        _told("Lag, seconds", "Age of the oldest record not committed.", "max", Metrics.group_lag_seconds, "s"),
        _told(
            "Until retention deletes what is unread",
            "A group that is stopped loses records when this reaches 0.",
            "min",
            Metrics.group_retention_left_seconds,
            "s",
        ),
        _told(
            "Lost to retention, records",
            "Deleted before they were read: 0.",
            "sum",
            Metrics.group_lost_records,
            "short",
        ),
        _told("Members", "0: nobody reads.", "min", Metrics.group_members, "short"),
        _told("Dead letters standing", "Records in the dead letter topic.", "max", Metrics.topic_dead_letters, "short"),
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
            Metrics.queries_total,
            "outcome",
            form="stack",
        ),
        counted(
            "Queries, by way",
            "Records of ranking.requested.v1, and /query.",
            Metrics.queries_total,
            "via",
            form="stack",
        ),
        counted(
            "Queries, by intent",
            "What answered queries were taken for; it decides how diverse results are.",
            Metrics.queries_total,
            "intent",
            form="stack",
            intent="!",
        ),
        slowest(
            "Time of an answered query",
            "With what the judge takes: where a model ranks, most of it is the model's.",
            Metrics.query_seconds,
            "via",
            shares=(0.5, 0.95),
        ),
    )


def _answered() -> tuple[Panel, ...]:
    return (
        counted(
            "Stages, by what they did",
            "failed: the order before it stood. skipped: it was not needed, or had nothing to do.",
            Metrics.query_stages_total,
            "stage",
            "outcome",
        ),
        counted(
            "Results, by trust label",
            "What a model or a person is told of each.",
            Metrics.query_results_total,
            "trust_label",
            form="stack",
        ),
        counted(
            "Results, by what their label rests on",
            "fallback: the page has no score, so the tier of its source stands in. It falls as an old index is filled"
            " again.",
            Metrics.query_results_total,
            "label_source",
            form="stack",
        ),
        Panel(
            title="Share of HIGH among the first five",
            note="The mean over queries with results. It falls where the index has less to say than is asked.",
            unit="percentunit",
            queries=single(mean(Metrics.query_high_share), "HIGH"),
        ),
        Panel(
            title="Trees in shadow: agreement",
            note="Share of the results shown that the trees would have shown as well; only with ranking.trees.mode:"
            " shadow. How good they are is for `assay train` to say.",
            unit="percentunit",
            queries=single(mean(Metrics.query_trees_agreement), "agreement"),
        ),
    )
