"""The series of a Prometheus for ``promtool test rules``: a healthy installation, and the differences of each fault.

They cover three hours, with one value per minute.
"""

from collections.abc import Mapping

from streams.generate.monitoring import services
from streams.telemetry.metrics import MetricDef, Metrics
from streams.topology import HANDLERS

WORKERS, LAG_READER, REPLAYS = "assay", "assay-lag", "assay-replay"
"""The jobs of Prometheus."""
MINUTES = 180
"""How long was looked at."""
World = Mapping[str, str]
"""Values by series, in the notation of promtool; a series of the healthy world with ``GONE`` is not there."""
GONE = ""


def steady(value: float) -> str:
    """The same value all the time."""
    return f"{value:g}+0x{MINUTES}"


def growing(a_minute: float) -> str:
    """A counter."""
    return f"0+{a_minute:g}x{MINUTES}"


def then(first: str, minutes: int, second: str) -> str:
    """One notation, and for the last minutes another: ``10``, ``+5`` a minute, or ``_`` for nothing."""
    before = MINUTES - minutes
    return f"{_run(first, before)} {_run(second, minutes)}"


def up(service: str, job: str = WORKERS) -> str:
    """Whether a service answers."""
    return f'up{{job="{job}", service="{service}", instance="{service}:8080"}}'


def healthy() -> dict[str, str]:
    """Every worker answers, every handler commits what comes within its objective, nothing waits."""
    world = {up(service): steady(1) for service in services()} | {up("lag", LAG_READER): steady(1)}
    for handler in HANDLERS:
        its = {"handler": handler.name}
        topic = its | {"topic": handler.consumes.name}
        world |= {
            seen(Metrics.transactions_total, **its, result="committed"): growing(60),
            seen(Metrics.event_age_seconds, "_bucket", **its, le=str(float(handler.slo_seconds))): growing(600),
            seen(Metrics.event_age_seconds, "_bucket", **its, le="3600.0"): growing(600),
            seen(Metrics.event_age_seconds, "_bucket", **its, le="+Inf"): growing(600),
            seen(Metrics.event_age_seconds, "_count", **its): growing(600),
            seen(Metrics.consumer_lag_records, **topic): steady(0),
            seen(Metrics.group_lag_records, **topic): steady(0),
            seen(Metrics.group_retention_left_seconds, **topic): steady(7 * 86_400),
            seen(Metrics.group_lost_records, **topic): steady(0),
            seen(Metrics.oldest_unfinished_seconds, **its): steady(0.2),
            seen(Metrics.breaker_open, **its): steady(0),
            seen(Metrics.records_held, **its): steady(5),
        }
    world |= {
        seen(Metrics.transactions_total, handler="score_page", result="in_doubt"): steady(2),
        seen(Metrics.dead_events_total, handler="score_page", reason="invalid", stage="decode"): steady(2),
        loop_lag("score-page"): steady(0.01),
        started("score-page"): steady(1_790_000_000),
        seen(Metrics.llm_breaker_open, model="small"): steady(0),
        seen(Metrics.llm_budget_left_usd): steady(20),
        seen(Metrics.llm_budget_usd): steady(20),
    }
    return world | tiers(growing(2), growing(10), growing(8))


def tiers(*values: str) -> dict[str, str]:
    """Pages scored, of tiers A, B and C."""
    labels = dict(zip("ABC", ("HIGH", "MEDIUM", "LOW"), strict=True))
    return {
        seen(Metrics.pages_scored_total, tier=tier, trust_label=label): value
        for (tier, label), value in zip(labels.items(), values, strict=True)
    }


def seen(metric: MetricDef, part: str = "", job: str = WORKERS, at: str = "", **labels: str) -> str:
    """A series as Prometheus has it, of one process where ``at`` says so; live traffic where nothing else is said."""
    if "lane" in metric.labels:
        labels = {"lane": "live", **labels}
    assert labels.keys() - {"le"} == set(metric.labels)
    inside = ", ".join(
        f'{label}="{value}"' for label, value in ({"job": job, "instance": at} | labels).items() if value
    )
    return f"{metric.name}{part}{{{inside}}}"


def loop_lag(service: str, job: str = WORKERS) -> str:
    """How late the event loop of a service's process wakes."""
    return f'{Metrics.loop_lag_seconds.name}{{job="{job}", service="{service}", instance="{service}:8080"}}'


def started(service: str, job: str = WORKERS) -> str:
    """When a service's process began."""
    return f'{Metrics.started_at_seconds.name}{{job="{job}", service="{service}", instance="{service}:8080"}}'


def _run(notation: str, minutes: int) -> str:
    if notation == "_":
        return f"_x{minutes}"
    start, _, step = notation.partition("+")
    return f"{start or 0}+{step or 0}x{minutes - 1}"
