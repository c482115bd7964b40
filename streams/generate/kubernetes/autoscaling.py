"""KEDA's ScaledObjects: replicas by the lag in seconds, with a slow way down.

The lag of a handler's own topic adds replicas: half of its objective is the target. It says nothing about replicas that
could be removed, because a group that keeps up has no lag. The work in progress does: replicas are removed if the rest
would have room for it. Both come from Prometheus. Without an answer about the lag, the number of replicas stays.
"""

from __future__ import annotations

from typing import Any

from streams.generate.compose_workers import service_name
from streams.generate.kubernetes.installation import Installation
from streams.generate.kubernetes.workers import PART_OF
from streams.generate.promql import level, rate
from streams.telemetry.metrics import Metrics
from streams.topology import Handler
from streams.workers.pool import concurrency_of

PROMETHEUS = "http://prometheus.assay.svc:9090"
"""With the namespace, because KEDA runs in another one."""
BUSY_SHARE = 0.7
"""Of the records that a replica may have in progress; above it, no replica is removed."""
_POLL_SECONDS = 15
"""As often as Prometheus scrapes."""
_DOUBLING_SECONDS = 60
"""A new replica needs this long to start, to join the group, and to show in the lag."""
_LOWEST_SECONDS = 600
"""Replicas are removed if so long fewer would have been enough."""
_REMOVAL_SECONDS = 300
"""Between two removals; each one is a rebalance for the rest of the group."""


def scaled_object(handler: Handler, installation: Installation) -> dict[str, Any]:
    """The ScaledObject of a handler."""
    name = service_name(handler)
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "labels": PART_OF},
        "spec": {
            "scaleTargetRef": {"name": name},
            "pollingInterval": _POLL_SECONDS,
            "minReplicaCount": 1,
            "maxReplicaCount": installation.most_replicas(handler),
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior()}},
            "triggers": [_lag(handler), _work(handler)],
        },
    }


def records_at_once(handler: Handler) -> int:
    """The records that a replica with one child process has in progress while it is busy, those that wait included."""
    return max(handler.concurrency, concurrency_of(1)) if handler.runs == "process" else handler.concurrency


def _lag(handler: Handler) -> dict[str, Any]:
    # Records of retry topics wait on purpose.
    query = level("max", Metrics.group_lag_seconds, handler=handler.name, topic=handler.consumes.name)
    return _trigger("lag", "Value", query, f"{handler.slo_seconds / 2:g}", without_data="false")


def _work(handler: Handler) -> dict[str, Any]:
    query = rate(Metrics.handler_duration_seconds, window="5m", part="_sum", handler=handler.name)
    return _trigger("work", "AverageValue", query, f"{BUSY_SHARE * records_at_once(handler):g}", without_data="true")


def _trigger(name: str, kind: str, query: str, threshold: str, *, without_data: str) -> dict[str, Any]:
    """A trigger; ``without_data`` is whether an empty answer of Prometheus counts as 0."""
    return {
        "type": "prometheus",
        "name": name,
        "metricType": kind,
        "metadata": {
            "serverAddress": PROMETHEUS,
            "query": query,
            "threshold": threshold,
            "ignoreNullValues": without_data,
        },
    }


def _behavior() -> dict[str, Any]:
    return {
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": _DOUBLING_SECONDS}],
        },
        "scaleDown": {
            "stabilizationWindowSeconds": _LOWEST_SECONDS,
            "policies": [{"type": "Pods", "value": 1, "periodSeconds": _REMOVAL_SECONDS}],
        },
    }
