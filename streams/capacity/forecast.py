"""What a load needs: CPU time, replicas, partitions, memory, disk, index, and money for models.

All figures are linear in the load, from costs that were measured for one input. Replicas are planned for the peak. A
burst or an outage leaves a backlog; the time to catch up is the backlog by what the replicas, and the limits of their
model, can do beyond the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import ceil, inf
from typing import Any, Self

from handlers.indexing.config import TieredIndexingSection
from streams.capacity.costs import Costs, ReplyCost
from streams.index.estimate import FLOAT_BYTES, estimate_points
from streams.llm.limits import Shares
from streams.llm.request import cost_of
from streams.llm.settings import ModelLimits
from streams.settings.model import Settings
from streams.topology import HANDLERS, PAGES_CRAWLED, RETENTION_DAYS, Handler

DAY_SECONDS = 86_400
UTILISATION = 0.7
"""The planned part of a replica's core at the peak; the rest is for rebalances and for catching up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What arrives from outside in a day.

    Attributes:
        pages: Crawled pages.
        batches: Retrieval batches.
        sources: Sources of snippet requests, each judged for its query.
        claims: Extracted claims.
        queries: Ranking requests.
        page_bytes: HTML of a page, on average.
        mix: Percentages of the tiers A, B and C.
        peak: The rate of the busiest hour, by that of the average.
        outage_hours: The length of an outage of the workers.
        burst: The rate of a burst, by that of the average.
        burst_hours: The length of a burst.
        index_days: Days whose pages are in the index.
    """

    pages: float
    page_bytes: float
    batches: float = 0.0
    sources: float = 0.0
    claims: float = 0.0
    queries: float = 0.0
    mix: tuple[float, ...] = (10, 50, 40)
    peak: float = 2.0
    outage_hours: float = 2.0
    burst: float = 4.0
    burst_hours: float = 1.0
    index_days: float = 30.0

    @property
    def crawled(self) -> float:
        """Pages in a day, those of sources included: ``fetch_page`` writes each to the topic of crawled pages."""
        return self.pages + self.sources

    def inputs(self) -> dict[str, float]:
        """The inputs of each handler in a day.

        How many extractions a batch leads to depends on the batch, so they are not counted.
        """
        return {
            "score_page": self.crawled,
            "index_page": self.crawled,
            "classify_results": self.batches,
            "evaluate_retrieval": self.batches,
            "evaluate_search": self.batches,
            "fetch_page": self.sources,
            "judge_relevance": self.sources,
            "decontextualize_claim": self.claims,
            "index_utterance": self.claims,
            "rank_results": self.queries,
        }


@dataclass(frozen=True, slots=True)
class HandlerForecast:
    """What one handler needs.

    Attributes:
        handler: Its name.
        inputs: In a day.
        peak_rate: Inputs a second in the busiest hour.
        cpu_seconds: Of its workers in a day.
        cores: At the peak.
        replicas: Workers of one core each.
        partitions: Of its topic: at least as many as replicas, in steps of what the topology has.
        outage_catch_up_hours: From the end of an outage on, at the average load; None if the model's limits
            are too low.
        burst_catch_up_hours: From the end of a burst on, likewise.
    """

    handler: str
    inputs: float
    peak_rate: float
    cpu_seconds: float
    cores: float
    replicas: int
    partitions: int
    outage_catch_up_hours: float | None
    burst_catch_up_hours: float | None


@dataclass(frozen=True, slots=True)
class ModelForecast:
    """What one handler asks a model.

    Attributes:
        handler: Its name.
        model: The model; "" if the configuration names none.
        calls: In a day, one for each input. Answers in the journal cost nothing; tools and further tries of
            ``decontextualize_claim`` cost more.
        tokens_in: Of the prompts in a day.
        tokens_out: Of the longest replies in a day.
        usd: In a day; None if the model has no price.
        requests_per_minute: In the busiest hour.
        tokens_per_minute: In the busiest hour.
        within_limits: Whether the handler's share of its model's limits is enough in the busiest hour.
    """

    handler: str
    model: str
    calls: float
    tokens_in: float
    tokens_out: float
    usd: float | None
    requests_per_minute: float
    tokens_per_minute: float
    within_limits: bool


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a load needs, all handlers together.

    Attributes:
        handlers: Those that have inputs.
        models: Those of them that ask models.
        cores: Of all replicas.
        memory_bytes: Of all replicas.
        broker_cores: Of all brokers at the peak, replication included.
        kafka_bytes: Of the topics on all brokers, for the time that they are kept.
        kafka_bytes_a_second: Written at the peak, on all brokers.
        index_points: Points in the index.
        index_bytes: Of their vectors; payloads and search graph are not included.
        usd: For models in a day; None if a model has no price.
    """

    handlers: tuple[HandlerForecast, ...]
    models: tuple[ModelForecast, ...]
    cores: int
    memory_bytes: float
    broker_cores: float
    kafka_bytes: float
    kafka_bytes_a_second: float
    index_points: int
    index_bytes: int
    usd: float | None

    @property
    def cpu_seconds(self) -> float:
        """Of all workers in a day."""
        return sum(its.cpu_seconds for its in self.handlers)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"cpu_seconds": self.cpu_seconds}


@dataclass(frozen=True, slots=True)
class AskedModel:
    """The model of a handler, and the handler's share of its limits."""

    name: str
    limits: ModelLimits
    share: float

    def inputs_a_second(self, cost: ReplyCost) -> float:
        """The inputs that the share allows, at one question for each."""
        tokens = self.limits.tokens_per_minute / max(1.0, cost.tokens_in + cost.tokens_out)
        return self.share * min(self.limits.requests_per_minute, tokens) / 60


@dataclass(frozen=True, slots=True)
class Setup:
    """The parts of the configuration that a forecast depends on.

    Attributes:
        copies: Of each topic.
        tiers: How pages are cut into points.
        chunks: Of a page that is chunked in full.
        dimensions: Of a vector.
        models: The model of each handler that asks one.
    """

    copies: int
    tiers: TieredIndexingSection
    chunks: int
    dimensions: int
    models: Mapping[str, AskedModel]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """That of the settings."""
        tasks = {handler.name: settings.model_of(handler.name) for handler in HANDLERS if handler.asks_models}
        weights = {task: settings.models.task(task).weight for task in tasks}
        shares = Shares(tasks, weights, 1 - settings.models.replay_share)
        return cls(
            copies=settings.kafka.replication_factor,
            tiers=settings.tiered_indexing,
            chunks=settings.index.planned_chunks,
            dimensions=settings.index.embedder.dimensions,
            models={
                task: AskedModel(model, settings.models.limits_of(model), shares.of(task))
                for task, model in tasks.items()
            },
        )


def forecast(load: Load, costs: Costs, setup: Setup) -> Forecast:
    """What a load needs under these costs."""
    inputs = load.inputs()
    busy = [handler for handler in HANDLERS if inputs.get(handler.name)]
    allowed = {name: asked.inputs_a_second(costs.models[name]) for name, asked in setup.models.items()}
    handlers = tuple(
        _handler(handler, inputs[handler.name], load, costs, allowed.get(handler.name, inf)) for handler in busy
    )
    models = tuple(
        _model(handler.name, inputs[handler.name], load.peak, costs.models[handler.name], setup.models[handler.name])
        for handler in busy
        if handler.name in setup.models
    )
    replicas = sum(its.replicas for its in handlers)
    size = sum(_written(load, busy, costs))
    points = _points(load, setup.tiers, setup.chunks)
    costs_known = [its.usd for its in models if its.usd is not None]
    return Forecast(
        handlers=handlers,
        models=models,
        cores=replicas,
        memory_bytes=replicas * costs.worker_megabytes * 2**20,
        broker_cores=setup.copies * load.peak * sum(_broker_seconds(busy, load, costs)) / DAY_SECONDS,
        kafka_bytes=setup.copies * RETENTION_DAYS * size,
        kafka_bytes_a_second=setup.copies * load.peak * size / DAY_SECONDS,
        index_points=points,
        index_bytes=points * setup.dimensions * FLOAT_BYTES,
        usd=sum(costs_known) if len(costs_known) == len(models) else None,
    )


def _handler(handler: Handler, inputs: float, load: Load, costs: Costs, allowed: float) -> HandlerForecast:
    each = costs.handlers[handler.name].seconds(load.page_bytes)
    average = inputs / DAY_SECONDS
    cores = load.peak * average * each
    replicas = max(1, ceil(cores / UTILISATION - 1e-9))
    most = min(replicas / each, allowed)
    room = most - average
    backlog = max(0.0, load.burst * average - most) * load.burst_hours
    step = handler.consumes.partitions
    return HandlerForecast(
        handler=handler.name,
        inputs=inputs,
        peak_rate=load.peak * average,
        cpu_seconds=inputs * each,
        cores=cores,
        replicas=replicas,
        partitions=step * ceil(replicas / step),
        # The replicas always catch up, because the peak is above the average; the limits of a model may not allow it.
        outage_catch_up_hours=load.outage_hours * average / room if room > 0 else None,
        burst_catch_up_hours=backlog / room if room > 0 else None,
    )


def _model(handler: str, inputs: float, peak: float, cost: ReplyCost, asked: AskedModel) -> ModelForecast:
    limits, share = asked.limits, asked.share
    tokens_in, tokens_out = inputs * cost.tokens_in, inputs * cost.tokens_out
    usd = cost_of(limits, tokens_in, tokens_out)
    requests, tokens = (peak * amount / DAY_SECONDS * 60 for amount in (inputs, tokens_in + tokens_out))
    enough = requests <= share * limits.requests_per_minute and tokens <= share * limits.tokens_per_minute
    return ModelForecast(handler, asked.name, inputs, tokens_in, tokens_out, usd, requests, tokens, enough)


def _broker_seconds(busy: list[Handler], load: Load, costs: Costs) -> Iterator[float]:
    """CPU time of one broker in a day for each handler; only crawled pages have a size of their own."""
    for handler in busy:
        size = load.page_bytes if handler.consumes == PAGES_CRAWLED else 0.0
        yield load.inputs()[handler.name] * costs.broker.seconds(size)


def _written(load: Load, busy: list[Handler], costs: Costs) -> Iterator[float]:
    """Bytes of each topic in a day: the records that a handler reads, and one result for each of its inputs."""
    inputs = load.inputs()
    results = {handler.emits[0].name: inputs[handler.name] for handler in busy}
    for topic, count in (results | {handler.consumes.name: inputs[handler.name] for handler in busy}).items():
        yield count * costs.topics[topic].size(load.page_bytes)


def _points(load: Load, tiers: TieredIndexingSection, chunks: int) -> int:
    return estimate_points(round(load.crawled * load.index_days), load.mix, chunks, tiers).points_with_articles
