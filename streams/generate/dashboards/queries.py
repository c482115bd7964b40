"""The dashboard of queries: how many, how fast, what each stage did, and how far what they find can be trusted."""

from __future__ import annotations

from streams.generate.expressions import mean
from streams.generate.panels import Dashboard, Panel, Row, counted, single, slowest
from streams.telemetry import metric_defs as defs


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
