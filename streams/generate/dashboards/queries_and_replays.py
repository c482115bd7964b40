"""Two dashboards: queries with their stages and results, and replays with all groups, stopped ones included."""

from __future__ import annotations

from streams.generate.panels import PICKED, Dashboard, Panel, Row, counted, durations, gauge, single
from streams.generate.promql import RANGE, REPLAY, Aggregate, increase, mean, once, rate
from streams.telemetry.metrics import MetricDef, Metrics


def replays() -> Dashboard:
    """Replays and backfills, and what is left to every group."""
    return Dashboard(
        name="replays",
        title="Assay: replays",
        note="Progress and costs of replays, apart from live traffic, and the lag of every group.",
        by_handler=True,
        rows=(Row(title="Replays", panels=_replays()), Row(title="Groups, also stopped ones", panels=_groups())),
    )


def _replays() -> tuple[Panel, ...]:
    return (
        counted(
            "Records of a replay",
            "Processed again, or passed over because the plan does not select them.",
            Metrics.replay_records_total,
            "handler",
            "outcome",
            form="stack",
        ),
        gauge("Remaining records of a replay", "It falls to 0.", "sum", Metrics.replay_remaining_records, "handler"),
        gauge(
            "Gives way to live traffic",
            "1 while live traffic is late and the replay waits. Always 1: live traffic leaves no capacity.",
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
            note="Inputs done in the replay lane, by outcome. The dashboards of handlers do not include them.",
            unit="cps",
            queries=single(
                rate(Metrics.handler_events_total, "handler", "outcome", lane=REPLAY, handler=PICKED),
                "{{handler}} {{outcome}}",
            ),
            form="stack",
        ),
        Panel(
            title="Refused in replays and backfills",
            note="Dead letters of the replay lane; they fire no alert.",
            unit="short",
            queries=single(
                increase(Metrics.dead_events_total, "handler", "reason", window=RANGE, lane=REPLAY, handler=PICKED),
                "{{handler}} {{reason}}",
            ),
            form="bars",
        ),
    )


def _groups() -> tuple[Panel, ...]:
    return (
        _of_groups("Lag, records", "Not committed, as seen from outside.", "sum", Metrics.group_lag_records, "short"),
        _of_groups("Lag, seconds", "Age of the oldest record not committed.", "max", Metrics.group_lag_seconds, "s"),
        _of_groups(
            "Until retention deletes what is unread",
            "A group that is stopped loses records when this reaches 0.",
            "min",
            Metrics.group_retention_left_seconds,
            "s",
        ),
        _of_groups(
            "Lost to retention, records",
            "Deleted before they were read: 0.",
            "sum",
            Metrics.group_lost_records,
            "short",
        ),
        _of_groups("Members", "0: the group has no consumer.", "min", Metrics.group_members, "short"),
        _of_groups("Dead letters", "Records in the dead letter topic.", "max", Metrics.topic_dead_letters, "short"),
    )


def _of_groups(title: str, note: str, aggregate: Aggregate, metric: MetricDef, unit: str) -> Panel:
    """A gauge of ``assay lag --serve``; each group counts once."""
    expression = once(aggregate, metric, "handler", handler=PICKED)
    return Panel(title=title, note=note, unit=unit, queries=single(expression, "{{handler}}"))


def queries() -> Dashboard:
    """Queries from request to results, over Kafka and HTTP."""
    return Dashboard(
        name="queries",
        title="Assay: queries",
        note="Queries over Kafka and HTTP: their time, what each stage does, and how far the results can be trusted."
        " Without replays.",
        rows=(Row(title="Queries", panels=_asked()), Row(title="Stages and trust", panels=_answered())),
    )


def _asked() -> tuple[Panel, ...]:
    return (
        counted(
            "Queries, by outcome",
            "empty: nothing was found. busy and timeout: the workers are overloaded; unavailable:"
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
            "The recognised intent of answered queries; it decides how diverse results are.",
            Metrics.queries_total,
            "intent",
            form="stack",
            intent="!",
        ),
        durations(
            "Time of an answered query",
            "Includes the judge: if a model ranks, most of the time is the model's.",
            Metrics.query_seconds,
            "via",
            shares=(0.5, 0.95),
        ),
    )


def _answered() -> tuple[Panel, ...]:
    return (
        counted(
            "Stages, by outcome",
            "failed: the previous order was kept. skipped: it was not needed, or had nothing to do.",
            Metrics.query_stages_total,
            "stage",
            "outcome",
        ),
        counted(
            "Results, by trust label",
            "The label that a model or a person gets for each.",
            Metrics.query_results_total,
            "trust_label",
            form="stack",
        ),
        counted(
            "Results, by the basis of their label",
            "fallback: the page has no score, so the tier of its source is used. It falls as an old index is filled"
            " again.",
            Metrics.query_results_total,
            "label_source",
            form="stack",
        ),
        Panel(
            title="Share of HIGH among the first five",
            note="The mean over queries with results. It falls if the index has no good pages for the queries.",
            unit="percentunit",
            queries=single(mean(Metrics.query_high_share), "HIGH"),
        ),
        Panel(
            title="Trees in shadow: agreement",
            note="Share of the results shown that the trees would have shown as well; only with ranking.trees.mode:"
            " shadow. `assay train` measures how good they are.",
            unit="percentunit",
            queries=single(mean(Metrics.query_trees_agreement), "agreement"),
        ),
    )
