"""The services that handlers may ask for: pages from the web, documents in the index, answers of language models."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemas.event import Run
from schemas.needs import AskModel, Collection, FetchPages, IndexDocument, Need, SearchVectors
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply
from streams.fetch.worker import FetchWorker
from streams.index.estimate import estimate_documents
from streams.index.ports import StoreCounts
from streams.index.worker import IndexWorker
from streams.llm.accounting import CostAccount
from streams.llm.limits import Shares
from streams.llm.tasks import answer_offline
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics, unexposed_metrics
from streams.telemetry.tracing import Tracer

if TYPE_CHECKING:
    from streams.llm.gateway import Gateway


def shares_of(settings: Settings, *, replaying: bool, at_once: bool = False) -> Shares:
    """A process's shares of the models' limits: of the part that is reserved for replays, or of the other one."""
    models = {name: settings.model_of(name) for name in settings.model_tasks}
    weights = {name: settings.models.task(name).weight for name in models}
    part = settings.models.replay_share if replaying else 1.0 - settings.models.replay_share
    return Shares(models, weights, part, at_once)


@dataclass(eq=False, repr=False)
class LiveServices:
    """The production services. Fetcher, index and model gateway are created on first use.

    Attributes:
        metrics: Without them it counts nothing.
        account: The plan's, if ``replaying``.
        tracer: Without it, it traces nothing.
        at_once: Whether the first model request waits for no turn, for a command that ends with its answer.
        shares: This process's shares of the models' limits, from its assigned partitions.
    """

    settings: Settings
    metrics: Metrics | None = None
    account: CostAccount | None = None
    replaying: bool = False
    tracer: Tracer | None = None
    at_once: bool = False
    _fetcher: FetchWorker | None = field(default=None, init=False)
    _indexer: IndexWorker | None = field(default=None, init=False)
    _utterances: IndexWorker | None = field(default=None, init=False)
    _gateway: Gateway | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._metrics = self.metrics or unexposed_metrics()
        self._tracer = self.tracer or Tracer()
        self.shares = shares_of(self.settings, replaying=self.replaying, at_once=self.at_once)

    async def answer(self, need: Need, run: Run | None) -> Reply:
        match need:
            case FetchPages():
                if self._fetcher is None:
                    self._fetcher = FetchWorker(self.settings.fetch, metrics=self._metrics, tracer=self._tracer)
                return await self._fetcher.fetch(need)
            case IndexDocument():
                return await self._collection(need.collection).index(need, run)
            case SearchVectors():
                return await self._collection(need.collection).search(need)
            case AskModel():
                return await self._judge(need)

    async def open_index(self, *, make: bool = True) -> None:
        """Opens the index now instead of at the first request. Without ``make`` a missing index is an error.

        Raises:
            IndexSettingsError: It can't be used as it is configured.
            IndexDownError: It can't be reached now.
        """
        await self._index_worker().open(make=make)

    async def close_index(self) -> None:
        """Closes the index, because embedded files belong to one process; the next request opens it again."""
        self._utterances = None
        indexer, self._indexer = self._indexer, None
        if indexer is not None:
            await indexer.aclose()

    def open_models(self) -> None:
        """Creates the gateway now: libraries load longer than the time limit of the first request."""
        self._open_gateway()

    async def aclose(self) -> None:
        fetcher, self._fetcher = self._fetcher, None
        if fetcher is not None:
            await fetcher.aclose()
        await self.close_index()
        gateway, self._gateway = self._gateway, None
        if gateway is not None:
            await gateway.aclose()

    async def _judge(self, need: AskModel) -> ModelReply | ModelFailed | ModelUnavailable:
        """A model's answer, or that of the offline judge if no model is configured."""
        settings = self.settings
        if settings.llm.offline:
            reply = answer_offline(need)
            self._metrics.llm_offline_total.labels(need.task, reply.call.outcome).inc()
            return reply
        gateway = self._open_gateway()
        if isinstance(gateway, str):
            model = self.shares.models.get(need.task, "")
            self._metrics.llm_unavailable_total.labels(need.task, model, "settings").inc()
            return ModelUnavailable(gateway, cause=gateway)
        return await gateway.answer(need)

    def _open_gateway(self) -> Gateway | str:
        """The gateway, or why these settings are not usable."""
        if self._gateway is None:
            from streams.llm.client import GatewaySettingsError
            from streams.llm.gateway import Gateway

            settings = self.settings
            try:
                self._gateway = Gateway(
                    settings.llm,
                    settings.models,
                    self.shares,
                    SystemClock(),
                    random.random,
                    self._metrics,
                    tracer=self._tracer,
                    account=self.account,
                )
            except GatewaySettingsError as error:
                return str(error)
        return self._gateway

    def _index_worker(self) -> IndexWorker:
        if self._indexer is None:
            from streams.index.embedders import make_embedder
            from streams.index.qdrant import QdrantStore

            index = self.settings.index
            embedder = make_embedder(index.embedder)
            store = QdrantStore(index, embedder.name, embedder.dimensions)
            # Counting a large index takes seconds, so it is not done without metrics.
            show = self._show if self.metrics is not None else None
            self._indexer = IndexWorker(store, embedder, SystemClock(), index.count_seconds, show)
            beside = store.beside(index.utterances)
            self._utterances = IndexWorker(beside, embedder, SystemClock(), index.count_seconds)
        return self._indexer

    def _collection(self, name: Collection) -> IndexWorker:
        pages = self._index_worker()
        return pages if name == "documents" or self._utterances is None else self._utterances

    def _show(self, counts: StoreCounts) -> None:
        """Sets the gauges: points in the index, and the estimate for as many documents."""
        metrics = self._metrics
        metrics.index_points.set(counts.points)
        for tier, documents in counts.documents.items():
            metrics.index_documents.labels(tier).set(documents)
        settings = self.settings
        estimate = estimate_documents(counts.documents, settings.index.planned_chunks, settings.tiered_indexing)
        metrics.index_points_estimated.labels("full").set(estimate.full_chunks)
        metrics.index_points_estimated.labels("tiered").set(estimate.points_with_articles)
