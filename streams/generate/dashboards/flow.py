"""The dashboards of the flow: whether everything is well, and each handler by itself."""

from __future__ import annotations

from streams.generate.alerts import IN_TIME
from streams.generate.panels import Dashboard, Panel, Query, Row, counted, durations, gauge, single
from streams.generate.promql import RANGE, WORKERS, increase, level, once, quantile, rate, series
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, Handler


def overview() -> Dashboard:
    """The state of the whole system."""
    return Dashboard(
        name="overview",
        title="Assay",
        note="Whether everything works, and where to look if it does not.",
        by_handler=True,
        rows=(Row(title="Now", panels=_now()), Row(title="Flow", panels=_flow()), Row(title="Work", panels=_work())),
    )


def handlers() -> Dashboard:
    """A row for each handler."""
    return Dashboard(
        name="handlers",
        title="Assay: handlers",
        note="Each handler: outcomes, age, waiting records, and dead letters. Live traffic only.",
        rows=tuple(Row(title=_heading(handler), panels=_handler(handler)) for handler in HANDLERS),
    )


def _now() -> tuple[Panel, ...]:
    firing = 'count(ALERTS{alertstate="firing"}) or vector(0)'
    versions = f"count by (version) ({series(Metrics.build_info)})"
    return (
        Panel(
            title="Alerts",
            note="Alerts that fire; each has an entry in the runbook, docs/operations.md.",
            unit="short",
            queries=single(firing, "firing"),
            form="figure",
        ),
        Panel(
            title="Workers that answer",
            note="Processes that Prometheus reaches. Fewer than were deployed: AssayWorkerDown.",
            unit="short",
            queries=single(f'sum(up{{job="{WORKERS}"}})', "workers"),
            form="figure",
        ),
        Panel(
            title="Inputs a second",
            note="Inputs with an outcome, of all handlers. Replays are not counted.",
            unit="cps",
            queries=single(rate(Metrics.handler_events_total), "inputs"),
            form="figure",
        ),
        Panel(
            title="Oldest unread",
            note="Age of the oldest record that a handler has not committed, from `assay lag --serve`.",
            unit="s",
            queries=single(once("max", Metrics.group_lag_seconds), "oldest"),
            form="figure",
        ),
        Panel(
            title="Dead letters",
            note="Records in the dead letter topics. `assay dlq list` names them; redrive or purge brings it to 0.",
            unit="short",
            queries=single(once("sum", Metrics.topic_dead_letters), "dead letters"),
            form="figure",
        ),
        Panel(
            title="Versions",
            note="Processes by installed version. Two versions: a rolling upgrade is under way, or stuck.",
            unit="short",
            queries=single(versions, "{{version}}"),
            form="figure",
        ),
    )


def _flow() -> tuple[Panel, ...]:
    in_time = f'{IN_TIME}{{handler=~"$handler"}}'
    return (
        counted(
            "Inputs done, by handler",
            "Inputs with an outcome. A line that falls to 0 while lag grows is a stall.",
            Metrics.handler_events_total,
            "handler",
            form="stack",
        ),
        counted(
            "Inputs done, by outcome",
            "emit and drop are normal; retry means that a dependency has trouble, dead that an input is wrong.",
            Metrics.handler_events_total,
            "outcome",
            form="stack",
        ),
        Panel(
            title="Done within the objective",
            note="Share of inputs done within the handler's objective, over 10 minutes. 99 in 100 is the objective.",
            unit="percentunit",
            queries=single(in_time, "{{handler}}"),
        ),
        durations(
            "Age when done, 99 in 100",
            "From the record's timestamp to the outcome. It grows with lag and with slow inputs.",
            Metrics.event_age_seconds,
            "handler",
        ),
        durations(
            "Time in the handler",
            "Work on one input, including waits for services. For the cpu lane, milliseconds.",
            Metrics.handler_duration_seconds,
            "handler",
            shares=(0.5, 0.99),
        ),
        gauge(
            "Lag, records",
            "Records not committed yet, as the workers see it. It may rise in bursts and must fall again.",
            "sum",
            Metrics.consumer_lag_records,
            "handler",
        ),
        counted(
            "Dead letters",
            "Records refused for good, by where and why. 0 is normal.",
            Metrics.dead_events_total,
            "handler",
            "stage",
            "reason",
        ),
        counted(
            "Pauses for dead letters",
            "Pauses of a handler because most of its records became dead letters. Check the last deploy. 0 is normal.",
            Metrics.dead_letter_pauses_total,
            "handler",
        ),
        counted(
            "Ended child processes",
            "Children that a record ended, by the limit that it exceeded. 0 is normal.",
            Metrics.child_processes_ended_total,
            "reason",
        ),
        counted("Retries", "Tries after the first, by what failed before.", Metrics.retries_total, "handler", "reason"),
        gauge(
            "Intake paused",
            "1 while a handler waits for a provider that is down; its records stay where they are.",
            "max",
            Metrics.breaker_open,
            "handler",
        ),
    )


def _work() -> tuple[Panel, ...]:
    return (
        gauge(
            "In flight",
            "Inputs in work, at most concurrency × partitions.",
            "sum",
            Metrics.handler_in_flight,
            "handler",
        ),
        gauge(
            "Oldest record in flight",
            "A record that is in flight for minutes stalls its partition.",
            "max",
            Metrics.oldest_unfinished_seconds,
            "handler",
            unit="s",
        ),
        counted(
            "Transactions",
            "By how they ended. One in doubt is read again; many point to the cluster.",
            Metrics.transactions_total,
            "handler",
            "result",
        ),
        durations(
            "Time of a transaction",
            "Tens of milliseconds; if more, the brokers are slow.",
            Metrics.transaction_seconds,
            "handler",
        ),
        gauge("Records held", "In memory, not committed yet.", "sum", Metrics.records_held, "handler"),
        gauge("Bytes held", "In memory, not committed yet.", "sum", Metrics.bytes_held, "handler", unit="bytes"),
        Panel(
            title="Event loop lag",
            note="How late the slowest process wakes. Above a second, one input blocks the processor.",
            unit="s",
            queries=single(level("max", Metrics.loop_lag_seconds), "slowest process"),
        ),
        Panel(
            title="Restarts",
            note="Restarts of processes. Normal on deploys only.",
            unit="short",
            queries=single(f"sum(changes({series(Metrics.started_at_seconds)}[1h]))", "within the hour before"),
        ),
        counted(
            "Rebalances",
            "Partitions reassigned. Normal on deploys, otherwise rare.",
            Metrics.rebalances_total,
            "handler",
        ),
    )


def _heading(handler: Handler) -> str:
    return (
        f"{handler.name} · {handler.lane} lane · {handler.consumes.name} · 99 in 100 within {handler.slo_seconds:g} s"
    )


def _handler(handler: Handler) -> tuple[Panel, ...]:
    one = {"handler": handler.name}
    age = tuple(
        Query(quantile(share, Metrics.event_age_seconds, **one), f"{share * 100:.0f} in 100") for share in (0.5, 0.99)
    )
    return (
        Panel(
            title="Inputs done, by outcome",
            note=f"What {handler.name} decided, a second.",
            unit="cps",
            queries=single(rate(Metrics.handler_events_total, "outcome", "reason", **one), "{{outcome}} {{reason}}"),
            form="stack",
        ),
        Panel(
            title="Age when done, and the objective",
            note=f"99 in 100 should stay below {handler.slo_seconds:g} s; the line is the objective.",
            unit="s",
            queries=age,
            objective=handler.slo_seconds,
        ),
        Panel(
            title="Lag, records",
            note="Its own topic and its retry topics. Records in a retry topic wait on purpose.",
            unit="short",
            queries=single(level("sum", Metrics.consumer_lag_records, "topic", **one), "{{topic}}"),
        ),
        Panel(
            title="In flight",
            note=f"Inputs in work; a process takes {handler.concurrency} at once.",
            unit="short",
            queries=single(level("sum", Metrics.handler_in_flight, **one), "in flight"),
        ),
        Panel(
            title="Dead letters",
            note="In the range shown, by where and why. `assay dlq list` has the records.",
            unit="short",
            queries=single(
                increase(Metrics.dead_events_total, "stage", "reason", window=RANGE, **one), "{{stage}} {{reason}}"
            ),
            form="bars",
        ),
        Panel(
            title="Retries",
            note="Tries after the first, by what failed before.",
            unit="cps",
            queries=single(rate(Metrics.retries_total, "reason", **one), "{{reason}}"),
        ),
    )
