"""The worker services of the composition, from ``templates/compose.yaml.j2``: one for each handler."""

from __future__ import annotations

from pathlib import Path

from schemas.needs import FetchPages
from streams.generate.templates import rendered
from streams.topology import HANDLERS, Handler
from streams.topology.text import to_yaml

HTTP_PORT = 8080
STATE = "/var/lib/assay"
"""Where a worker keeps what should outlive it: fetched pages, or the embedded index. Nothing else can be written to."""
GRACE = "40s"
"""Longer than the drain budget (``pipeline.drain_seconds``), so that a stop is a drain and not a kill."""


def compose_workers() -> dict[Path, str]:
    [document] = rendered(
        "compose.yaml.j2",
        handlers=HANDLERS,
        port=HTTP_PORT,
        state=STATE,
        grace=GRACE,
        fetches=lambda handler: FetchPages in handler.asks,
    )
    return {Path("config/generated/compose.workers.yml"): to_yaml(document)}


def service_name(handler: Handler) -> str:
    """The service of a handler; a host name has no underscores."""
    return handler.name.replace("_", "-")
