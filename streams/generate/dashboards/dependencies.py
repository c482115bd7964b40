"""The dashboards of dependencies: language models with their costs, and fetching."""

from __future__ import annotations

from streams.generate.panels import Dashboard, Panel, Query, Row, counted, single, slowest, stands
from streams.generate.promql import RANGE, increase, rate, series
from streams.telemetry.metrics import Metrics


def models() -> Dashboard:
    """Language models: requests, time, limits, tokens and money (R-129, R-270)."""
    return Dashboard(
        name="models",
        title="Assay: models and money",
        note="What language models are asked, how long that takes, what holds it up, and what it costs; by live"
        " workers, for backfills too.",
        rows=(
            Row(title="Money", panels=_money()),
            Row(title="Requests", panels=_requests()),
            Row(title="Waiting, and not being asked", panels=_waiting()),
        ),
    )


def fetching() -> Dashboard:
    """Fetching from the open web."""
    return Dashboard(
        name="fetching",
        title="Assay: fetching",
        note="What is asked of strangers' servers, what comes, and how patiently; for backfills too.",
        rows=(Row(title="Fetching", panels=_fetching()),),
    )


def _money() -> tuple[Panel, ...]:
    return (
        Panel(
            title="Spent",
            note="In the range shown, without replays. Calls that brought nothing are estimates.",
            unit="currencyUSD",
            queries=single(increase(Metrics.llm_cost_usd_total, "task", "model", window=RANGE), "{{task}} {{model}}"),
            form="bars",
        ),
        Panel(
            title="Spending, USD an hour",
            note="The pace at this moment.",
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
            note="From the journal: paid for before. From the offline judge: no model is configured.",
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
            "How each request ended; anything but an answer is tried again within the task's patience.",
            Metrics.llm_requests_total,
            "task",
            "outcome",
            form="stack",
        ),
        slowest(
            "Time of a request",
            "Without the wait for its turn. Long tails are the provider's.",
            Metrics.llm_request_seconds,
            "task",
            "model",
            shares=(0.5, 0.99),
        ),
    )


def _waiting() -> tuple[Panel, ...]:
    return (
        slowest(
            "Waiting for a turn", "For those before it and for the model's limits.", Metrics.llm_queue_seconds, "task"
        ),
        slowest(
            "Held back by limits", "The part of that wait at the head of the line.", Metrics.llm_limit_seconds, "task"
        ),
        stands(
            "Requests a minute allowed",
            "Shares of all processes in the provider's limit, as configured and as learnt.",
            "sum",
            Metrics.llm_allowed_requests_per_minute,
            "task",
            "model",
        ),
        counted(
            "Nobody could be asked",
            "By the cause; nothing is decided meanwhile, records wait.",
            Metrics.llm_unavailable_total,
            "task",
            "cause",
        ),
        stands(
            "Models left alone", "1 while a model rests because it failed.", "max", Metrics.llm_breaker_open, "model"
        ),
    )


def _fetching() -> tuple[Panel, ...]:
    return (
        counted(
            "Fetches",
            "Pages asked for, by what came: ok, or the failure.",
            Metrics.fetches_total,
            "outcome",
            form="stack",
        ),
        Panel(
            title="Not fetched again",
            note="Pages that were brought home, or refused, for the same query before.",
            unit="cps",
            queries=single(rate(Metrics.fetches_cached_total), "kept"),
        ),
        counted(
            "robots.txt",
            "Rules of origins that were looked for, by what was found.",
            Metrics.fetch_robots_total,
            "outcome",
        ),
        Panel(
            title="Bytes fetched",
            note="Of page bodies, unpacked.",
            unit="Bps",
            queries=single(rate(Metrics.fetch_bytes_total), "bytes"),
        ),
        slowest(
            "Waiting for a host",
            "The pause between requests to one host. It is long if many pages of one host are requested.",
            Metrics.fetch_wait_seconds,
            shares=(0.5, 0.99),
        ),
    )
