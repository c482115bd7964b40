"""Recording rules: what several panels and alerts look at, or what costs too much to compute at each look."""

from __future__ import annotations

from typing import Any

from streams.generate.expressions import increase, quantile, rate
from streams.telemetry import metric_defs as defs
from streams.topology import HANDLERS, Handler

AGE_P99 = f"handler:{defs.EVENT_AGE.name}:p99_10m"
"""Age within which 99 in 100 inputs of a handler were done, over 10 minutes."""
IN_TIME = f"handler:{defs.EVENT_AGE.name}:in_time10m"
"""Share of a handler's inputs that were done within its objective, over 10 minutes."""
LATE = f"handler:{defs.EVENT_AGE.name}:late10m"
"""How many of a handler's inputs were not done within its objective, over 10 minutes."""
TIER_SHARE = f"tier:{defs.PAGES_SCORED.name}:share1h"
"""A tier's share of the pages of an hour; none of an hour without pages: no number, which means would stay."""


def recording_rules() -> list[dict[str, Any]]:
    """The rules as Prometheus reads them."""
    pages = increase(defs.PAGES_SCORED, "tier", window="1h")
    return [
        {"record": AGE_P99, "expr": quantile(0.99, defs.EVENT_AGE, "handler", window="10m")},
        *({"record": IN_TIME, "expr": _in_time(handler), "labels": {"handler": handler.name}} for handler in HANDLERS),
        *({"record": LATE, "expr": _late(handler), "labels": {"handler": handler.name}} for handler in HANDLERS),
        {
            "record": TIER_SHARE,
            "expr": f"{pages}\n  / on () group_left () ({increase(defs.PAGES_SCORED, window='1h')} > 0)",
        },
    ]


def _late(handler: Handler) -> str:
    bound = str(float(handler.slo_seconds))
    done = increase(defs.EVENT_AGE, window="10m", part="_bucket", handler=handler.name, le=bound)
    return f"{increase(defs.EVENT_AGE, window='10m', part='_count', handler=handler.name)}\n  - {done}"


def _in_time(handler: Handler) -> str:
    """Objectives differ, and each is a bound of the histogram, so the share is exact."""
    bound = str(float(handler.slo_seconds))
    done = rate(defs.EVENT_AGE, window="10m", part="_bucket", handler=handler.name, le=bound)
    return f"{done}\n  / {rate(defs.EVENT_AGE, window='10m', part='_count', handler=handler.name)}"
