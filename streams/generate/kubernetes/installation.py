"""The parts of the configuration that the manifests depend on."""

from __future__ import annotations

from math import ceil
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field

from handlers.decontextualize_claim import ModelSection
from handlers.prompts.template import ModelTasks
from schemas.rules import Section
from streams.index.settings import IndexSettings
from streams.kafka.settings import KafkaSettings
from streams.llm.limits import Shares
from streams.llm.settings import LlmSettings, ModelsSection
from streams.settings.model import PipelineSettings
from streams.telemetry.labels import TASKS
from streams.telemetry.settings import TelemetrySettings
from streams.topology import Handler

KAFKA, QDRANT, REDIS = "kafka:9092", "http://qdrant:6333", "redis://redis:6379/0"
"""Addresses of a configuration that names no server: services of the namespace."""


class Installation(Section):
    """What is installed: the servers, the drain budget, and the limits of models.

    ``limited`` is whether the limits of models bound the replicas: they do if a model answers instead of the offline
    judge.
    """

    kafka: KafkaSettings = Field(default=KafkaSettings(), description="The cluster.")
    telemetry: TelemetrySettings = Field(default=TelemetrySettings(), description="The collector of traces.")
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="The drain budget.")
    index: IndexSettings = Field(default=IndexSettings(), description="The index and the embedder.")
    llm: LlmSettings = Field(default=LlmSettings(), description="The server of models.")
    models: ModelsSection = Field(description="Limits of models.")
    model_tasks: ModelTasks = Field(description="The model of each task.")
    model: ModelSection = Field(default=ModelSection(), description="Models of the steps that make claims.")
    limited: bool = Field(default=True, description="Whether models limit the replicas.")

    @classmethod
    def shipped(cls, document: dict[str, Any]) -> Self:
        """The installation of the shipped configuration: with a model and three brokers."""
        found = cls._of(document)
        return found.model_copy(update={"kafka": found.kafka.model_copy(update={"replication_factor": 3})})

    @classmethod
    def in_force(cls, document: dict[str, Any]) -> Self:
        """The installation of the settings in force."""
        found = cls._of(document)
        return found.model_copy(update={"limited": not found.llm.offline})

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Self:
        """With a server for the index, because pods share no disk for an embedded one."""
        found = cls.model_validate({name: document[name] for name in cls.model_fields.keys() & document.keys()})
        index = found.index.model_copy(update={"url": found.index.url or QDRANT})
        return found.model_copy(update={"index": index})

    @property
    def grace_seconds(self) -> int:
        """The time from SIGTERM to SIGKILL: the drain, and 15 s for closing clients."""
        return ceil(self.pipeline.drain_seconds) + 15

    @property
    def kafka_servers(self) -> str:
        """The addresses of the brokers."""
        return self.kafka.bootstrap_servers or KAFKA

    @property
    def kafka_ports(self) -> tuple[int, ...]:
        """The ports of the brokers."""
        return tuple(sorted({int(server.rpartition(":")[2]) for server in self.kafka_servers.split(",")}))

    @property
    def service_ports(self) -> tuple[int, ...]:
        """The ports of what every process uses beside Kafka: the collector of traces."""
        traces = self.telemetry.otlp_endpoint or "http://localhost:4318"
        return (port_of(traces),) if self.telemetry.traces == "otlp" else ()

    @property
    def redis_port(self) -> int:
        """The port of the journal of models' replies."""
        return urlsplit(self.llm.redis_url.get_secret_value() or REDIS).port or 6379

    def most_replicas(self, handler: Handler) -> int:
        """The number of replicas beyond which another one has nothing to do.

        A partition has one owner, so there are at most as many as partitions. A handler of the lane ``llm`` needs only
        as many as can use up its part of its model's limits, if each call takes as long as it may.
        """
        if not self.limited or handler.lane != "llm":
            return handler.consumes.partitions
        policy, limits = self.models.task(handler.name), self.models.limits_of(self._model_of(handler.name))
        weights = {task: self.models.task(task).weight for task in TASKS}
        shares = Shares({task: self._model_of(task) for task in TASKS}, weights, 1 - self.models.replay_share)
        share = shares.of(handler.name)
        calls = handler.concurrency * 60 / policy.deadline_seconds
        useful = min(limits.requests_per_minute * share / calls, limits.in_flight * share / handler.concurrency)
        return min(handler.consumes.partitions, max(1, ceil(useful)))

    def _model_of(self, task: str) -> str:
        return self.model.of_task(task) or self.model_tasks[task].model or self.llm.model


def port_of(url: str) -> int:
    """The port of an address.

    >>> port_of("https://api.example.org/v1"), port_of("http://qdrant:6333")
    (443, 6333)
    """
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)
