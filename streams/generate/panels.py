"""What the dashboard shows: rows of panels, each some expressions over declared metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streams.telemetry import metric_defs as defs
from streams.telemetry.metric_defs import MetricDef

SELECTED = 'handler=~"$handler"'
"""The handlers that the reader of the dashboard picked."""
SPAN = "$__rate_interval"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel.

    Attributes:
        title: What is seen.
        unit: As Grafana names it.
        queries: Expression and legend of each group of series.
        form: Lines, lines on top of each other, or one bar a series over the whole range of time.
        signed: Whether values below zero mean something.
    """

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    form: Literal["lines", "stack", "bars"] = "lines"
    signed: bool = False


def rows() -> tuple[tuple[str, tuple[Panel, ...]], ...]:
    """The rows in order, each a title and its panels."""
    return (
        ("Flow", _flow()),
        ("Pipeline", _pipeline()),
        ("Trust", _trust()),
        ("Index", _index()),
        ("Results and extraction", _results()),
        ("Language models", _models()),
    )


def _flow() -> tuple[Panel, ...]:
    return (
        _counted("Inputs done, by outcome", defs.HANDLER_EVENTS, "handler", "outcome", form="stack"),
        Panel("Age when done, 99 in 100", "s", ((_quantile(0.99, defs.EVENT_AGE, "handler"), "{{handler}}"),)),
        Panel(
            "Time in the handler, 50 and 99 in 100",
            "s",
            (
                (_quantile(0.5, defs.HANDLER_DURATION, "handler"), "{{handler}} 50"),
                (_quantile(0.99, defs.HANDLER_DURATION, "handler"), "{{handler}} 99"),
            ),
        ),
        _level("Lag, records", "short", "sum", defs.CONSUMER_LAG, "handler", "topic"),
        _counted("Dead letters", defs.DEAD_EVENTS, "handler", "stage", "reason"),
        _counted("Retries", defs.RETRIES, "handler", "reason"),
        _level("Intake rests, provider down", "short", "max", defs.BREAKER_OPEN, "handler"),
    )


def _pipeline() -> tuple[Panel, ...]:
    return (
        _level("In flight", "short", "sum", defs.HANDLER_IN_FLIGHT, "handler"),
        _level("Oldest record in hand", "s", "max", defs.OLDEST_UNFINISHED, "handler"),
        _counted("Transactions", defs.TRANSACTIONS, "handler", "result"),
        Panel(
            "Time of a transaction, 99 in 100",
            "s",
            ((_quantile(0.99, defs.TRANSACTION_SECONDS, "handler"), "{{handler}}"),),
        ),
        _level("Records held", "short", "sum", defs.RECORDS_HELD, "handler"),
        _level("Bytes held", "bytes", "sum", defs.BYTES_HELD, "handler"),
        Panel("Event loop lag", "s", ((f"max({defs.LOOP_LAG.name})", "the slowest process"),)),
        _counted("Rebalances", defs.REBALANCES, "handler"),
    )


def _trust() -> tuple[Panel, ...]:
    features = f"sum by (feature) (rate({defs.PAGE_FEATURES.name}[{SPAN}]))"
    pages = f"sum(rate({defs.PAGES_SCORED.name}[{SPAN}]))"
    scores = f"sum by (le) (increase({defs.CTS_SCORE.name}_bucket[$__range]))"
    return (
        _counted("Pages by tier", defs.PAGES_SCORED, "tier", form="stack"),
        _counted("Pages by trust label", defs.PAGES_SCORED, "trust_label", form="stack"),
        Panel("Trust scores, pages up to", "short", ((scores, "{{le}}"),), form="bars"),
        Panel("Share of pages with a feature", "percentunit", ((f"{features} / scalar({pages})", "{{feature}}"),)),
    )


def _index() -> tuple[Panel, ...]:
    # Every process that writes counts the same index.
    real = f"max({defs.INDEX_POINTS.name})"
    estimated = f"max by (plan) ({defs.INDEX_POINTS_ESTIMATED.name})"
    written, removed = (f"sum(rate({metric.name}[{SPAN}]))" for metric in (defs.POINTS_WRITTEN, defs.POINTS_REMOVED))
    return (
        Panel("Points: counted, and as estimated", "short", ((real, "counted"), (estimated, "estimated, {{plan}}"))),
        _level("Documents by tier", "short", "max", defs.INDEX_DOCUMENTS, "tier"),
        _counted("Pages indexed", defs.DOCUMENTS_INDEXED, "tier", "change", form="stack"),
        Panel("Points written and removed", "cps", ((written, "written"), (removed, "removed"))),
    )


def _results() -> tuple[Panel, ...]:
    listings = f'sum(rate({defs.RESULTS_CLASSIFIED.name}{{result_type="AGGREGATOR"}}[{SPAN}]))'
    results = f"sum(rate({defs.RESULTS_CLASSIFIED.name}[{SPAN}]))"
    gained = f"sum(rate({defs.ACTIONABLE_IMPROVEMENT.name}_sum[{SPAN}]))"
    batches = f"sum(rate({defs.ACTIONABLE_IMPROVEMENT.name}_count[{SPAN}]))"
    apart = f"sum(rate({defs.SEARCH_JUDGE_DRIFT.name}_sum[{SPAN}]))"
    judged = f"sum(rate({defs.SEARCH_JUDGE_DRIFT.name}_count[{SPAN}]))"
    return (
        _counted("Results by type", defs.RESULTS_CLASSIFIED, "result_type", form="stack"),
        Panel("Share of listings", "percentunit", ((f"{listings} / {results}", "listings"),)),
        _counted("Verdicts", defs.BATCHES, "verdict", form="stack"),
        _counted("Extractions triggered", defs.EXTRACTIONS_TRIGGERED, "reason"),
        Panel("Mean improvement by extraction", "short", ((f"{gained} / {batches}", "actionable"),), signed=True),
        _counted("Sources judged, by outcome", defs.RELEVANCE_JUDGMENTS, "outcome", form="stack"),
        _counted("Relevant sources read", defs.SNIPPETS, "reason"),
        _counted("Searches, by recommendation", defs.SEARCHES_EVALUATED, "recommendation", form="stack"),
        Panel("Scores of searches: model against rubric", "short", ((f"{apart} / {judged}", "mean distance"),)),
        _counted("Claims, by band", defs.CLAIMS_EVALUATED, "band", form="stack"),
        _counted("Claims, by how judging them ended", defs.CLAIMS_EVALUATED, "status", form="stack"),
        _counted("Fetches", defs.FETCHES, "outcome", form="stack"),
        Panel("Bytes fetched", "Bps", ((f"sum(rate({defs.FETCH_BYTES.name}[{SPAN}]))", "bytes"),)),
        Panel("Waiting for a host, 99 in 100", "s", ((_quantile(0.99, defs.FETCH_WAIT), "wait"),)),
    )


def _models() -> tuple[Panel, ...]:
    answered = f"sum by (task) (rate({defs.LLM_TOKENS.name}[{SPAN}]))"
    cost = f"sum by (task, model) (increase({defs.LLM_COST.name}[$__range]))"
    free = f"sum by (task) (rate({defs.LLM_CACHED.name}[{SPAN}]))"
    offline = f"sum by (task) (rate({defs.LLM_OFFLINE.name}[{SPAN}]))"
    return (
        _counted("Requests, by outcome", defs.LLM_REQUESTS, "task", "outcome", form="stack"),
        Panel("Time of a request, 99 in 100", "s", ((_quantile(0.99, defs.LLM_REQUEST_SECONDS, "task"), "{{task}}"),)),
        Panel("Waiting for a turn, 99 in 100", "s", ((_quantile(0.99, defs.LLM_QUEUE_SECONDS, "task"), "{{task}}"),)),
        _level("Requests a minute allowed", "short", "sum", defs.LLM_ALLOWED, "task", "model"),
        Panel("Tokens a second", "short", ((answered, "{{task}}"),), form="stack"),
        Panel("Costs in USD", "currencyUSD", ((cost, "{{task}} {{model}}"),), form="bars"),
        _level("Budget left today, USD", "currencyUSD", "max", defs.LLM_BUDGET_LEFT),
        Panel("Answers from the journal, and offline", "cps", ((free, "{{task}} kept"), (offline, "{{task}} offline"))),
        _counted("Nobody could be asked", defs.LLM_UNAVAILABLE, "task", "cause"),
        _level("Models left alone", "short", "max", defs.LLM_BREAKER_OPEN, "model"),
    )


def _counted(title: str, metric: MetricDef, *by: str, form: Literal["lines", "stack"] = "lines") -> Panel:
    """How often a second a counter counted, by labels."""
    expression = f"sum by ({', '.join(by)}) (rate({metric.name}{_selector(metric)}[{SPAN}]))"
    return Panel(title, "reqps", ((expression, _legend(by)),), form)


def _level(title: str, unit: str, aggregate: Literal["sum", "max"], metric: MetricDef, *by: str) -> Panel:
    """Where a gauge stands, by labels."""
    expression = f"{aggregate} by ({', '.join(by)}) ({metric.name}{_selector(metric)})"
    if not by:
        expression = f"{aggregate}({metric.name})"
    return Panel(title, unit, ((expression, _legend(by) or title),))


def _quantile(quantile: float, metric: MetricDef, *by: str) -> str:
    labels = ", ".join((*by, "le"))
    return f"histogram_quantile({quantile}, sum by ({labels}) (rate({metric.name}_bucket{_selector(metric)}[{SPAN}])))"


def _selector(metric: MetricDef) -> str:
    return f"{{{SELECTED}}}" if "handler" in metric.labels else ""


def _legend(by: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in by)
