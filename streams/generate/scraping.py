"""What Prometheus scrapes: the services of the composition, by name."""

from __future__ import annotations

from typing import Any

from streams.generate.compose_workers import HTTP_PORT, service_name
from streams.topology import HANDLERS

WORKERS = "assay"
"""The job of the workers."""
LAG_READER = "assay-lag"
"""The job of ``assay lag --serve``, which also knows of groups that nobody runs."""
REPLAYS = "assay-replay"
"""The job of replays, which come and go."""


def services(not_run: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The worker services, each once, without those of handlers that are not run."""
    return tuple(dict.fromkeys(service_name(handler) for handler in HANDLERS if handler.name not in not_run))


def scraping(rule_files: list[str]) -> dict[str, Any]:
    """``prometheus.yml``; a service with several replicas answers the name look-up with each of them."""
    return {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": rule_files,
        "scrape_configs": [
            _job(WORKERS, services()),
            _job(LAG_READER, ("lag",)),
            _job(REPLAYS, ("replay",)),
            {"job_name": "prometheus", "static_configs": [{"targets": ["localhost:9090"]}]},
        ],
    }


def _job(name: str, names: tuple[str, ...]) -> dict[str, Any]:
    look_up = {"names": list(names), "type": "A", "port": HTTP_PORT, "refresh_interval": "15s"}
    return {
        "job_name": name,
        "dns_sd_configs": [look_up],
        "relabel_configs": [{"source_labels": ["__meta_dns_name"], "target_label": "service"}],
    }
