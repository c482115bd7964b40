"""The Kubernetes manifests of the topology, from the templates in ``templates/kubernetes``.

A base runs every handler, a component scales it, and there is an example of an overlay. An overlay names the
namespace, the image, the servers and the secrets.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any, Self

from pydantic import Field

from handlers.decontextualize_claim import ModelSection
from handlers.prompts.template import ModelTasks
from schemas.addresses import port_of
from schemas.needs import AskModel, FetchPages, IndexDocument, SearchVectors
from schemas.rules import Section
from streams.generate.templates import HTTP_PORT, STATE, rendered, service_name
from streams.index.settings import IndexSettings
from streams.kafka.settings import KafkaSettings
from streams.llm.limits import Shares
from streams.llm.settings import LlmSettings, ModelsSection
from streams.settings.model import PipelineSettings
from streams.telemetry.labels import TASKS
from streams.telemetry.settings import TelemetrySettings
from streams.topology import HANDLERS, Handler
from streams.topology.text import IN_YAML, to_yaml, to_yaml_stream
from streams.workers.pool import concurrency_of

FOLDER = Path("config/generated/kubernetes")
BASE, AUTOSCALING, EXAMPLE = Path("base"), Path("autoscaling"), Path("overlays/example")
CONSOLE_PORT = 8090
PROMETHEUS = "http://prometheus.assay.svc:9090"  # with the namespace, because KEDA runs in another one
BUSY_SHARE = 0.7  # of the records that a replica may have in progress; above it, no replica is removed
KAFKA, QDRANT, REDIS = "kafka:9092", "http://qdrant:6333", "redis://redis:6379/0"
"""Addresses of a configuration that names no server: services of the namespace."""


class Installation(Section):
    """What is installed: the servers, the drain budget, and the limits of models."""

    kafka: KafkaSettings = Field(default=KafkaSettings(), description="The cluster.")
    telemetry: TelemetrySettings = Field(default=TelemetrySettings(), description="The collector of traces.")
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="The drain budget.")
    index: IndexSettings = Field(default=IndexSettings(), description="The index and the embedder.")
    llm: LlmSettings = Field(default=LlmSettings(), description="The server of models.")
    models: ModelsSection = Field(description="Limits of models.")
    model_tasks: ModelTasks = Field(description="The model of each task.")
    model: ModelSection = Field(default=ModelSection(), description="Models of the steps that make claims.")
    limited: bool = Field(default=True, description="Whether models limit the replicas; the offline judge does not.")

    @classmethod
    def shipped(cls, document: dict[str, Any]) -> Self:
        """The installation of the shipped configuration: with a model and three brokers."""
        found = cls.in_force(document)
        kafka = found.kafka.model_copy(update={"replication_factor": 3})
        return found.model_copy(update={"kafka": kafka, "limited": True})

    @classmethod
    def in_force(cls, document: dict[str, Any]) -> Self:
        """With a server for the index, because pods share no disk for an embedded one."""
        found = cls.model_validate({name: document[name] for name in cls.model_fields.keys() & document.keys()})
        index = found.index.model_copy(update={"url": found.index.url or QDRANT})
        return found.model_copy(update={"index": index, "limited": not found.llm.offline})

    @property
    def grace_seconds(self) -> int:
        """The time from SIGTERM to SIGKILL: the drain, and 15 s for closing clients."""
        return ceil(self.pipeline.drain_seconds) + 15

    @property
    def kafka_servers(self) -> str:
        return self.kafka.bootstrap_servers or KAFKA

    @property
    def server_ports(self) -> tuple[int, ...]:
        """The ports of what every process uses: the brokers, and the collector of traces."""
        ports = {int(server.rpartition(":")[2]) for server in self.kafka_servers.split(",")}
        if self.telemetry.traces == "otlp":
            ports.add(port_of(self.telemetry.otlp_endpoint or "http://localhost:4318"))
        return tuple(sorted(ports))

    def most_replicas(self, handler: Handler) -> int:
        """The number of replicas beyond which another one has nothing to do.

        A partition has one owner, so there are at most as many as partitions. A handler of the lane ``llm`` needs only
        as many as can use up its part of its model's limits, if each call takes as long as it may.
        """
        if not self.limited or handler.lane != "llm":
            return handler.consumes.partitions
        policy, limits = self.models.task(handler.name), self.models.limits_of(self._model_of(handler.name), self.llm)
        weights = {task: self.models.task(task).weight for task in TASKS}
        shares = Shares({task: self._model_of(task) for task in TASKS}, weights, 1 - self.models.replay_share)
        share = shares.of(handler.name)
        calls = handler.concurrency * 60 / policy.deadline_seconds
        useful = min(limits.requests_per_minute * share / calls, limits.in_flight * share / handler.concurrency)
        return min(handler.consumes.partitions, max(1, ceil(useful)))

    def _model_of(self, task: str) -> str:
        return self.model.of_task(task) or self.model_tasks[task].model or self.llm.model


def kubernetes(document: dict[str, Any]) -> dict[Path, str]:
    return {FOLDER / path: text for path, text in manifests(Installation.shipped(document)).items()}


def manifests(installation: Installation) -> dict[Path, str]:
    base = {f"{service_name(handler)}.yaml": _worker(handler, installation) for handler in HANDLERS}
    lag = ["lag", "--serve", f"0.0.0.0:{HTTP_PORT}"]
    base |= {
        "console.yaml": _console(installation),
        "lag.yaml": _process(installation, "lag", lag, cpu="100m", readiness="/healthz", alone=True, service=True),
        # Its account needs the right to create topics; the workers' accounts do not.
        "topics.yaml": _process(installation, "topics", ["topics", "create"], cpu="100m", readiness="", job=True),
        "network.yaml": _network(installation),
    }
    scaled = {f"{service_name(handler)}.yaml": [scaled_object(handler, installation)] for handler in HANDLERS}
    kustomizations = rendered(
        "kubernetes/kustomizations.yaml.j2",
        base=sorted(base),
        scaled=sorted(scaled),
        servers=installation.kafka_servers,
        topic_prefix=installation.kafka.topic_prefix,
        replication_factor=installation.kafka.replication_factor,
        port=HTTP_PORT,
        index=installation.index.url,
        redis=REDIS,
        prometheus=PROMETHEUS,
        ports=installation.server_ports,
    )
    of_base, of_scaling, of_example = map(to_yaml, kustomizations)
    return {
        BASE / "kustomization.yaml": of_base,
        BASE / "overrides.yaml": f"{IN_YAML}# Keys that override those of the image, as in config/assay.yaml.\n",
        **{BASE / name: to_yaml_stream(content) for name, content in base.items()},
        AUTOSCALING / "kustomization.yaml": of_scaling,
        **{AUTOSCALING / name: to_yaml_stream(content) for name, content in scaled.items()},
        EXAMPLE / "kustomization.yaml": of_example,
    }


def scaled_object(handler: Handler, installation: Installation) -> dict[str, Any]:
    # While a replica with one child process is busy, it has so many records in progress, those that wait included.
    at_once = max(handler.concurrency, concurrency_of(1)) if handler.runs == "process" else handler.concurrency
    [found] = rendered(
        "kubernetes/scaled.yaml.j2",
        handler=handler,
        name=service_name(handler),
        most_replicas=installation.most_replicas(handler),
        prometheus=PROMETHEUS,
        lag_seconds=f"{handler.slo_seconds / 2:g}",
        busy=f"{BUSY_SHARE * at_once:g}",
    )
    return dict(found)


def _worker(handler: Handler, installation: Installation) -> list[Any]:
    # One core to read pages, a part of one for handlers that mostly wait.
    cpu = "1" if handler.runs == "process" and not handler.asks else "250m"
    env = {"ASSAY_FETCH__CACHE_PATH": f"{STATE}/fetched.sqlite"} if FetchPages in handler.asks else {}
    return _process(
        installation,
        service_name(handler),
        ["run", handler.name],
        component=handler.lane,
        handler=handler.name,
        cpu=cpu,
        readiness="/readyz",
        env=env,
        service=True,
    )


def _console(installation: Installation) -> list[Any]:
    """The web console. No policy opens its port: ``kubectl port-forward deployment/console`` does."""
    queries = next(service_name(handler) for handler in HANDLERS if handler.answers_queries)
    env = {
        "ASSAY_CONSOLE__PORT": str(CONSOLE_PORT),
        "ASSAY_CONSOLE__READING_NEEDS_TOKEN": "true",
        "ASSAY_CONSOLE__QUERIES": f"http://{queries}:{HTTP_PORT}",
    }
    return _process(
        installation, "console", ["console"], cpu="250m", readiness="/healthz", port=CONSOLE_PORT, env=env, alone=True
    )


def _process(installation: Installation, name: str, args: list[str], **values: Any) -> list[Any]:
    defaults = {
        "component": name, "handler": "", "env": {}, "port": HTTP_PORT, "alone": False, "job": False, "service": False
    }  # fmt: skip
    own = {"name": name, "args": args, "state": STATE, "grace_seconds": installation.grace_seconds}
    return rendered("kubernetes/process.yaml.j2", **defaults | own | values)


def _network(installation: Installation) -> list[Any]:
    index = [port_of(installation.index.url)]
    if installation.index.embedder.kind == "openai":
        index.append(port_of(installation.index.embedder.base_url))
    model = port_of(installation.llm.base_url) if installation.llm.base_url else 443
    redis = port_of(installation.llm.redis_url.get_secret_value() or REDIS, 6379)
    return rendered(
        "kubernetes/network.yaml.j2",
        port=HTTP_PORT,
        servers=installation.server_ports,
        index=_asking({IndexDocument, SearchVectors}),
        index_servers=index,
        models=_asking({AskModel}),
        model_servers=[model, redis],
        fetch=_asking({FetchPages}),
        redis=redis,
    )


def _asking(needs: set[type]) -> list[str]:
    return [handler.name for handler in HANDLERS if handler.asks & needs]
