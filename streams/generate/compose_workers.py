"""The worker services of the composition: one a handler, so that each is scaled and restarted by itself.

In: the topology. Out: ``config/generated/compose.workers.yml``. One service a lane would need fewer processes, but then
a backfill of pages would share its event loop with handlers whose objective is ten seconds, and one more replica of a
handler would be one more of all. The lane is a label: ``docker ps --filter label=assay.lane=llm``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.needs import FetchPages
from streams.topology import HANDLERS, Handler
from streams.topology.text import to_yaml

HTTP_PORT = 8080
STATE = "/var/lib/assay"
"""Where a worker keeps what should outlive it: fetched pages, or the embedded index. Nothing else can be written to."""
MEMORY = "${WORKER_MEMORY:-1g}"
"""Of one worker: what it holds of each partition is bounded (``pipeline.window_bytes``), so more is a leak."""
GRACE = "40s"
"""Longer than the drain budget (``pipeline.drain_seconds``), so that a stop is a drain and not a kill."""


def compose_workers() -> dict[Path, str]:
    """``config/generated/compose.workers.yml``."""
    document = {"services": {service_name(handler): _service(handler) for handler in HANDLERS}}
    return {Path("config/generated/compose.workers.yml"): to_yaml(document)}


def service_name(handler: Handler) -> str:
    """The service of a handler; a host name has no underscores."""
    return handler.name.replace("_", "-")


def _service(handler: Handler) -> dict[str, Any]:
    environment = {
        "ASSAY_KAFKA__BOOTSTRAP_SERVERS": "${KAFKA_BOOTSTRAP_SERVERS:-kafka:19092}",
        "ASSAY_KAFKA__TOPIC_PREFIX": "${KAFKA_TOPIC_PREFIX:-}",
        "ASSAY_HTTP__HOST": "0.0.0.0",  # noqa: S104 - inside the container; no port is published
        "ASSAY_HTTP__PORT": str(HTTP_PORT),
        "ASSAY_LOGS__FORMAT": "json",
        # One child for each worker, whatever the host has: MEMORY is for that. More workers use more cores.
        "ASSAY_WORKERS__PROCESSES": "${WORKER_PROCESSES:-1}",
        # Embedded, the index would belong to one worker; all that write to it or search in it share the server.
        # An empty QDRANT_URL means embedded all the same.
        "ASSAY_INDEX__URL": "${QDRANT_URL-http://qdrant:6333}",
        "ASSAY_INDEX__API_KEY": "${QDRANT_API_KEY:-}",
    }
    service: dict[str, Any] = {
        "image": "${ASSAY_IMAGE:-assay:local}",
        "command": ["run", handler.name],
        "labels": {"assay.handler": handler.name, "assay.lane": handler.lane},
        "env_file": [{"path": ".env.assay", "required": False}],
        "environment": environment,
        "expose": [str(HTTP_PORT)],
        "depends_on": {"topics": {"condition": "service_completed_successfully"}},
        "healthcheck": {
            "test": ["CMD", "python", "-c", _probe()],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": "60s",
        },
        "restart": "unless-stopped",
        "stop_grace_period": GRACE,
        "read_only": True,
        "tmpfs": ["/tmp"],  # noqa: S108 - the container's own
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": MEMORY,
        "pids_limit": 256,
    }
    if FetchPages in handler.asks:
        service["environment"] = environment | {"ASSAY_FETCH__CACHE_PATH": f"{STATE}/fetched.sqlite"}
        service["volumes"] = [f"fetched:{STATE}"]
    if handler.writes_index:
        service["environment"] = environment | {"ASSAY_INDEX__PATH": f"{STATE}/{handler.name}"}
        service["volumes"] = [f"indexed:{STATE}"]
    if handler.asks_models:
        # Workers share no disk, so Redis has the paid answers and the day's costs. It is used only with a model.
        service["environment"] = environment | {"ASSAY_LLM__REDIS_URL": "${REDIS_URL:-redis://redis:6379/0}"}
        service["depends_on"] = service["depends_on"] | {"redis": {"condition": "service_healthy"}}
    return service


def _probe() -> str:
    return f"import urllib.request as r; r.urlopen('http://127.0.0.1:{HTTP_PORT}/healthz', timeout=4)"
