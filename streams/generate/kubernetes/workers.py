"""Deployments, services and disruption budgets of the workers, the lag exporter, and the job that creates topics.

A manifest names no number of replicas: an autoscaler or the operator sets it, and ``kubectl apply`` leaves it as it is.
"""

from __future__ import annotations

from typing import Any

from schemas.needs import FetchPages
from streams.generate.compose_workers import HTTP_PORT, STATE, service_name
from streams.generate.kubernetes.installation import REDIS, Installation
from streams.topology import HANDLERS, Handler

IMAGE = "assay:local"
ENVIRONMENT, OVERRIDES, SECRET, TLS = "assay-environment", "assay-overrides", "assay", "assay-kafka-tls"
"""The config maps of the environment and of overriding keys, and the secrets of the environment and of TLS files."""
OVERRIDES_FILE = "overrides.yaml"
_OVERRIDES_FOLDER, _TLS_FOLDER = "/etc/assay-overrides", "/etc/assay-tls"
CONSOLE_PORT = 8090
PART_OF = {"app.kubernetes.io/part-of": "assay"}
HANDLER_LABEL = "assay/handler"
_USER = 10001
"""Of the image."""
_MEMORY = "1Gi"
"""Of one worker: what it holds of each partition is bounded (``pipeline.window_bytes``), so more is a leak."""


def worker(handler: Handler, installation: Installation) -> list[dict[str, Any]]:
    """The manifests of a handler's workers."""
    name = service_name(handler)
    labels = _labels(name, handler.lane) | {HANDLER_LABEL: handler.name}
    pod = _pod(name, ["run", handler.name], labels, installation, cpu=_cpu(handler), readiness="/readyz")
    if FetchPages in handler.asks:
        cache = {"name": "ASSAY_FETCH__CACHE_PATH", "value": f"{STATE}/fetched.sqlite"}
        pod["spec"]["containers"][0]["env"] = [cache]
    return [
        _deployment(name, labels, pod),
        _service(name, labels),
        _manifest(
            "policy/v1",
            "PodDisruptionBudget",
            name,
            labels,
            {"maxUnavailable": 1, "selector": {"matchLabels": _selector(name)}},
        ),
    ]


def lag_exporter(installation: Installation) -> list[dict[str, Any]]:
    """The process that reports the lag of all groups, also of those without workers."""
    labels = _labels("lag", "lag")
    args = ["lag", "--serve", f"0.0.0.0:{HTTP_PORT}"]
    pod = _pod("lag", args, labels, installation, cpu="100m", readiness="/healthz")
    return [_deployment("lag", labels, pod, alone=True), _service("lag", labels)]


def console(installation: Installation) -> list[dict[str, Any]]:
    """The web console. No policy opens its port: ``kubectl port-forward deployment/console`` does."""
    labels = _labels("console", "console")
    pod = _pod("console", ["console"], labels, installation, cpu="250m", readiness="/healthz")
    [container] = pod["spec"]["containers"]
    queries = next(service_name(handler) for handler in HANDLERS if handler.answers_queries)
    container["ports"] = [{"name": "http", "containerPort": CONSOLE_PORT}]
    container["env"] = [
        {"name": "ASSAY_CONSOLE__PORT", "value": str(CONSOLE_PORT)},
        {"name": "ASSAY_CONSOLE__READING_NEEDS_TOKEN", "value": "true"},
        {"name": "ASSAY_CONSOLE__QUERIES", "value": f"http://{queries}:{HTTP_PORT}"},
    ]
    return [_deployment("console", labels, pod, alone=True)]


def topics_job(installation: Installation) -> list[dict[str, Any]]:
    """The job that creates missing topics. Its account needs the right to; the workers' accounts do not."""
    labels = _labels("topics", "topics")
    pod = _pod("topics", ["topics", "create"], labels, installation, cpu="100m", readiness="")
    pod["spec"]["restartPolicy"] = "OnFailure"
    # A job is immutable. Once it has been deleted, the next version of the image can be applied.
    spec = {"backoffLimit": 6, "ttlSecondsAfterFinished": 300, "template": pod}
    return [_manifest("batch/v1", "Job", "topics", labels, spec)]


def environment(installation: Installation) -> list[str]:
    """The variables of all processes, as literals of Kustomize; passwords are in secrets."""
    kafka = installation.kafka
    variables = {
        "ASSAY_KAFKA__BOOTSTRAP_SERVERS": installation.kafka_servers,
        "ASSAY_KAFKA__TOPIC_PREFIX": kafka.topic_prefix,
        "ASSAY_KAFKA__REPLICATION_FACTOR": str(kafka.replication_factor),
        "ASSAY_KAFKA__CREATE_TOPICS": "false",
        "ASSAY_HTTP__HOST": "0.0.0.0",  # noqa: S104 - inside the container; policies say which clients reach it
        "ASSAY_HTTP__PORT": str(HTTP_PORT),
        "ASSAY_LOGS__FORMAT": "json",
        # One child for each worker: _MEMORY is for that. More workers use more cores.
        "ASSAY_WORKERS__PROCESSES": "1",
        "ASSAY_INDEX__URL": installation.index.url,
        # Workers share no disk, so Redis has the paid answers and the day's costs. It is used only with a model.
        "ASSAY_LLM__REDIS_URL": REDIS,
    }
    return [f"{name}={value}" for name, value in variables.items()]


def _cpu(handler: Handler) -> str:
    """The requested CPU time: one core to read pages, a part of one for handlers that mostly wait."""
    return "1" if handler.runs == "process" and not handler.asks else "250m"


def _pod(
    name: str, args: list[str], labels: dict[str, str], installation: Installation, *, cpu: str, readiness: str
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": name,
        "image": IMAGE,
        "args": [*args, "--config", f"{_OVERRIDES_FOLDER}/{OVERRIDES_FILE}"],
        # The later source overrides the earlier one. A handler may have an account of its own.
        "envFrom": [
            {"configMapRef": {"name": ENVIRONMENT}},
            {"secretRef": {"name": SECRET, "optional": True}},
            {"secretRef": {"name": f"{SECRET}-{name}", "optional": True}},
        ],
        # No limit of CPU time: throttled, a worker misses heartbeats.
        "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}, "limits": {"memory": _MEMORY}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "overrides", "mountPath": _OVERRIDES_FOLDER, "readOnly": True},
            {"name": "kafka-tls", "mountPath": _TLS_FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
            {"name": "state", "mountPath": STATE},
        ],
    }
    if readiness:
        container["ports"] = [{"name": "http", "containerPort": HTTP_PORT}]
        container["startupProbe"] = _probe("/healthz", period=2, failures=60)
        container["livenessProbe"] = _probe("/healthz", period=10, failures=3)
        container["readinessProbe"] = _probe(readiness, period=5, failures=3)
    spec = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": installation.grace_seconds,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [
            {"name": "overrides", "configMap": {"name": OVERRIDES}},
            {"name": "kafka-tls", "secret": {"secretName": TLS, "optional": True}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "128Mi"}},
            {"name": "state", "emptyDir": {"sizeLimit": "2Gi"}},
        ],
    }
    return {"metadata": {"labels": labels}, "spec": spec}


def _deployment(name: str, labels: dict[str, str], pod: dict[str, Any], *, alone: bool = False) -> dict[str, Any]:
    pod["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": _selector(name)},
        }
    ]
    # A new worker joins the group before the old one drains.
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    spec: dict[str, Any] = {"strategy": {"type": "Recreate"} if alone else rolling}
    if alone:
        spec["replicas"] = 1
    return _manifest(
        "apps/v1", "Deployment", name, labels, spec | {"selector": {"matchLabels": _selector(name)}, "template": pod}
    )


def _service(name: str, labels: dict[str, str]) -> dict[str, Any]:
    """A headless service: its name has the addresses of all replicas, as Prometheus's configuration needs."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": _selector(name),
        "ports": [{"name": "http", "port": HTTP_PORT}],
    }
    return _manifest("v1", "Service", name, labels, spec)


def _manifest(version: str, kind: str, name: str, labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}


def _selector(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name, **PART_OF}


def _labels(name: str, component: str) -> dict[str, str]:
    return {**_selector(name), "app.kubernetes.io/component": component}


def _probe(path: str, *, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": period,
        "timeoutSeconds": min(period, 5),
        "failureThreshold": failures,
    }
