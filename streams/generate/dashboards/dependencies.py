"""The dashboards of dependencies: language models with their costs, and fetching."""

from __future__ import annotations

from streams.generate.panels import Dashboard, Panel, Query, Row, counted, durations, gauge, single
from streams.generate.promql import RANGE, increase, rate, series
from streams.telemetry.metrics import Metrics


def models() -> Dashboard:
    """Language models: requests, time, limits, tokens and money (R-129, R-270)."""
    return Dashboard(
        name="models",
        title="Assay: models and money",
        note="Requests to language models, their time, waits and costs; by live workers, backfills included.",
        rows=(
            Row(title="Money", panels=_money()),
            Row(title="Requests", panels=_requests()),
            Row(title="Waiting, and unavailable models", panels=_waiting()),
        ),
    )


def fetching() -> Dashboard:
    """Fetching from the open web."""
    return Dashboard(
        name="fetching",
        title="Assay: fetching",
        note="Requests to web servers, their outcomes, and the pauses between them; backfills included.",
        rows=(Row(title="Fetching", panels=_fetching()),),
    )


def _money() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Spent",
            note="In the range shown, without replays. Costs of failed calls are estimates.",
            unit="currencyUSD",
            queries=single(increase(Metrics.llm_cost_usd_total, "task", "model", window=RANGE), "{{task}} {{model}}"),
            form="bars",
        ),
        Panel(
            title="Spending, USD an hour",
            note="The present rate.",
            unit="currencyUSD",
            queries=single(f"{rate(Metrics.llm_cost_usd_total, 'task')} * 3600", "{{task}}"),
            form="stack",
        ),
        Panel(
            title="Left of the day's budget",
            note="All replicas together, by UTC day. At 0 intake is paused until midnight. No line without a budget,"
            " nor before the day's first question.",
            unit="currencyUSD",
            queries=(
                Query(f"min({series(Metrics.llm_budget_left_usd)})", "left"),
                Query(f"max({series(Metrics.llm_budget_usd)})", "budget"),
            ),
        ),
        Panel(
            title="Tokens a second",
            note="Prompts (in) and replies (out).",
            unit="short",
            queries=single(rate(Metrics.llm_tokens_total, "task", "direction"), "{{task}} {{direction}}"),
            form="stack",
        ),
        Panel(
            title="Answers that cost nothing",
            note="kept: from the journal, paid before. offline: from the offline judge, as no model is configured.",
            unit="cps",
            queries=(
                Query(rate(Metrics.llm_cached_total, "task"), "{{task}} kept"),
                Query(rate(Metrics.llm_offline_total, "task"), "{{task}} offline"),
            ),
            form="stack",
        ),
    )


def _requests() -> tuple[Panel, ...]:
    return (
        counted(
            "Requests, by outcome",
            "How each request ended; failed ones are retried within the time limit of the task.",
            Metrics.llm_requests_total,
            "task",
            "outcome",
            form="stack",
        ),
        durations(
            "Time of a request",
            "Without the wait for a slot. Long tails come from the provider.",
            Metrics.llm_request_seconds,
            "task",
            "model",
            shares=(0.5, 0.99),
        ),
    )


def _waiting() -> tuple[Panel, ...]:
    return (
        durations(
            "Waiting for a slot", "For earlier requests and for the model's limits.", Metrics.llm_queue_seconds, "task"
        ),
        durations(
            "Waiting for limits", "The part of that wait at the head of the queue.", Metrics.llm_limit_seconds, "task"
        ),
        gauge(
            "Requests a minute allowed",
            "Shares of all processes in the provider's limit, as configured and as learnt.",
            "sum",
            Metrics.llm_allowed_requests_per_minute,
            "task",
            "model",
        ),
        counted(
            "Model unavailable",
            "By the cause; nothing is decided meanwhile, records wait.",
            Metrics.llm_unavailable_total,
            "task",
            "cause",
        ),
        gauge(
            "Models not called",
            "1 while a model is not called because it failed.",
            "max",
            Metrics.llm_breaker_open,
            "model",
        ),
    )


def _fetching() -> tuple[Panel, ...]:
    return (
        counted(
            "Fetches",
            "Requested pages, by outcome: ok, or the failure.",
            Metrics.fetches_total,
            "outcome",
            form="stack",
        ),
        Panel(
            title="Not fetched again",
            note="Pages that were fetched, or refused, for the same query before.",
            unit="cps",
            queries=single(rate(Metrics.fetches_cached_total), "kept"),
        ),
        counted("robots.txt", "Requests for the rules of origins, by outcome.", Metrics.fetch_robots_total, "outcome"),
        Panel(
            title="Bytes fetched",
            note="Of page bodies, unpacked.",
            unit="Bps",
            queries=single(rate(Metrics.fetch_bytes_total), "bytes"),
        ),
        durations(
            "Waiting for a host",
            "The pause between requests to one host. It is long if many pages of one host are requested.",
            Metrics.fetch_wait_seconds,
            shares=(0.5, 0.99),
        ),
    )
