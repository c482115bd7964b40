"""The dashboards of dependencies: language models with their costs, and fetching."""

from __future__ import annotations

from streams.generate.panels import Dashboard, Panel, Query, Row, counted, single, slowest, stands
from streams.generate.promql import RANGE, increase, rate, series
from streams.telemetry import metric_defs as defs


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
            queries=single(increase(defs.LLM_COST, "task", "model", window=RANGE), "{{task}} {{model}}"),
            form="bars",
        ),
        Panel(
            title="Spending, USD an hour",
            note="The pace at this moment.",
            unit="currencyUSD",
            queries=single(f"{rate(defs.LLM_COST, 'task')} * 3600", "{{task}}"),
            form="stack",
        ),
        Panel(
            title="Left of the day's budget",
            note="All replicas together, by UTC day. At 0 intake is paused until midnight. No line without a budget,"
            " nor before the day's first question.",
            unit="currencyUSD",
            queries=(
                Query(f"min({series(defs.LLM_BUDGET_LEFT)})", "left"),
                Query(f"max({series(defs.LLM_BUDGET)})", "budget"),
            ),
        ),
        Panel(
            title="Tokens a second",
            note="Prompts (in) and replies (out).",
            unit="short",
            queries=single(rate(defs.LLM_TOKENS, "task", "direction"), "{{task}} {{direction}}"),
            form="stack",
        ),
        Panel(
            title="Answers that cost nothing",
            note="From the journal: paid for before. From the offline judge: no model is configured.",
            unit="cps",
            queries=(
                Query(rate(defs.LLM_CACHED, "task"), "{{task}} kept"),
                Query(rate(defs.LLM_OFFLINE, "task"), "{{task}} offline"),
            ),
            form="stack",
        ),
    )


def _requests() -> tuple[Panel, ...]:
    return (
        counted(
            "Requests, by outcome",
            "How each request ended; anything but an answer is tried again within the task's patience.",
            defs.LLM_REQUESTS,
            "task",
            "outcome",
            form="stack",
        ),
        slowest(
            "Time of a request",
            "Without the wait for its turn. Long tails are the provider's.",
            defs.LLM_REQUEST_SECONDS,
            "task",
            "model",
            shares=(0.5, 0.99),
        ),
    )


def _waiting() -> tuple[Panel, ...]:
    return (
        slowest(
            "Waiting for a turn", "For those before it and for the model's limits.", defs.LLM_QUEUE_SECONDS, "task"
        ),
        slowest(
            "Held back by limits", "The part of that wait at the head of the line.", defs.LLM_LIMIT_SECONDS, "task"
        ),
        stands(
            "Requests a minute allowed",
            "Shares of all processes in the provider's limit, as configured and as learnt.",
            "sum",
            defs.LLM_ALLOWED,
            "task",
            "model",
        ),
        counted(
            "Nobody could be asked",
            "By the cause; nothing is decided meanwhile, records wait.",
            defs.LLM_UNAVAILABLE,
            "task",
            "cause",
        ),
        stands("Models left alone", "1 while a model rests because it failed.", "max", defs.LLM_BREAKER_OPEN, "model"),
    )


def _fetching() -> tuple[Panel, ...]:
    return (
        counted("Fetches", "Pages asked for, by what came: ok, or the failure.", defs.FETCHES, "outcome", form="stack"),
        Panel(
            title="Not fetched again",
            note="Pages that were brought home, or refused, for the same query before.",
            unit="cps",
            queries=single(rate(defs.FETCHES_CACHED), "kept"),
        ),
        counted(
            "robots.txt", "Rules of origins that were looked for, by what was found.", defs.FETCH_ROBOTS, "outcome"
        ),
        Panel(
            title="Bytes fetched",
            note="Of page bodies, unpacked.",
            unit="Bps",
            queries=single(rate(defs.FETCH_BYTES), "bytes"),
        ),
        slowest(
            "Waiting for a host",
            "The pause between requests to one host. It is long if many pages of one host are requested.",
            defs.FETCH_WAIT,
            shares=(0.5, 0.99),
        ),
    )
