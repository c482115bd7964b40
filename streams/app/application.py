"""Builds the running application from settings: handlers as consumer groups, their pipeline, and the HTTP routes.

``assay run`` adds handler names, a drain and exit codes. ``faststream run streams.app:app`` runs every handler.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import structlog
from faststream.asgi import AsgiFastStream, AsgiResponse, get
from prometheus_client import CollectorRegistry, make_asgi_app

from streams.generate.asyncapi import asyncapi_document
from streams.index.ports import IndexDownError
from streams.kafka.topics import create_topics, written_by
from streams.pipeline.breaker import Breaker, DeadShare
from streams.pipeline.commit import CommitterFactory, committer_factory
from streams.pipeline.drain import DrainDetector, high_watermarks
from streams.pipeline.group import ConsumerGroup, subscriptions
from streams.pipeline.handler_runner import HandlerRunner, Services
from streams.pipeline.health import Health, HealthReport
from streams.pipeline.intake import IntakeBroker
from streams.pipeline.metrics import PipelineMetrics
from streams.pipeline.processor import RecordProcessor
from streams.pipeline.services import LiveServices
from streams.query.engine import QueryEngine, query_handler
from streams.query.route import QueryRoute
from streams.runtime.clock import Clock, SystemClock
from streams.runtime.process import installed_version
from streams.settings.model import Settings, load_settings
from streams.telemetry.metrics import Metrics
from streams.telemetry.setup import make_tracer
from streams.telemetry.tracing import Tracer
from streams.topology import HANDLERS, Handler, only_searches
from streams.topology.text import to_yaml
from streams.workers.handler_jobs import handler_pool

log = structlog.get_logger("assay")
_ASYNCAPI_HEADERS = {"content-type": "application/yaml; charset=utf-8", "x-content-type-options": "nosniff"}


class _Routes(AsgiFastStream):
    """The routes of an application; any other path is answered with a list of them."""

    async def run(self, *arguments: Any, **options: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return await super().run(*arguments, **options)
        # For `faststream run`: uvicorn raises SIGTERM again after a clean stop, and the process would exit 143.
        before = signal.signal(signal.SIGTERM, lambda *_: None)
        try:
            await super().run(*arguments, **options)
        finally:
            signal.signal(signal.SIGTERM, before)

    async def not_found(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await super().not_found(scope, receive, send)
        body = "\n".join(["Not found. The paths are:", *(path for path, _ in self.routes), ""])
        answer = AsgiResponse(body.encode(), 404, {"content-type": "text/plain; charset=utf-8"})
        return await answer(scope, receive, send)


class Application:
    """Everything one process runs, made from settings and started and stopped as one."""

    def __init__(
        self,
        settings: Settings,
        handlers: Sequence[Handler] = HANDLERS,
        services: Services | None = None,
        commits: Callable[[Settings, str, Clock, PipelineMetrics], CommitterFactory] = committer_factory,
        tracer: Tracer | None = None,
    ) -> None:
        """Wires the handlers; opens nothing. ``settings`` must name a Kafka cluster."""
        self.settings = settings
        self._commits = commits
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry)
        self.metrics.build_info.labels(installed_version()).set(1)
        self._clock = SystemClock()
        self.metrics.started_at_seconds.set(self._clock.now().timestamp())
        self._tracer = tracer or make_tracer(settings.telemetry, installed_version())
        self._own_services = LiveServices(settings, self.metrics, tracer=self._tracer)
        self.shares = self._own_services.shares
        self._services = services or self._own_services
        # A process that owns an embedded index answers queries too.
        owner = not settings.index.url and any(handler.needs_index for handler in handlers)
        answers_queries = owner or any(handler.answers_queries for handler in handlers)
        in_pool = (*handlers, *([query_handler()] if answers_queries else []))
        self.pool = handler_pool(
            ((handler, settings.rules(handler.rules)) for handler in in_pool), settings.workers, self.metrics
        )
        self.groups = tuple(group for handler in handlers for group in self._groups(handler))
        writes = {topic for handler in handlers for topic in written_by(handler)}
        self.health = Health(self.groups, settings, self._clock, self.metrics, writes=writes)
        self.drain_detector = DrainDetector(self.groups, partial(high_watermarks, settings.kafka), self._clock)
        engine = None
        if answers_queries:
            engine = QueryEngine(
                settings, self._services, metrics=self.metrics, via="http", shares=self.shares, pool=self.pool
            )
        self._queries = QueryRoute(engine, settings.query, settings.http.token.get_secret_value())
        self.broker = IntakeBroker(settings, self.groups, self.registry)
        self.asgi = _Routes(
            self.broker,
            asgi_routes=[
                ("/metrics", make_asgi_app(self.registry)),
                ("/healthz", probe(self.health.alive)),
                ("/readyz", probe(self.health.ready)),
                ("/query", self._queries),
                ("/asyncapi.yaml", asyncapi_route(settings.kafka.topic_prefix)),
            ],
            logger=None,
            on_startup=[self.health.start, self._open_models, self._preload, *([self.pool.start] if self.pool else [])],
            on_shutdown=[self.drain],
            after_shutdown=[*([self.pool.stop] if self.pool else []), self._own_services.aclose, self._tracer.aclose],
        )
        self.drained = False

    async def open_index(self) -> None:
        """Opens the index if a handler of this process needs it. An unreachable index is logged, and waited for later.

        Raises IndexSettingsError if it can't be used as it is configured, or belongs to another process.
        """
        if not self.settings.index.url and only_searches(group.handler for group in self.groups):
            log.warning(
                "the embedded index of this process stays as it is: no handler of this process writes to it; set "
                "ASSAY_INDEX__URL (QDRANT_URL in the composition) to a Qdrant server that all workers share, or run "
                "index_page in this process as well",
                path=str(self.settings.index.path),
            )
        if any(group.handler.needs_index for group in self.groups):
            try:
                await self._own_services.open_index()
            except IndexDownError as error:
                log.warning("the index can't be reached; pages wait until it can", error=str(error))

    async def prepare(self) -> None:
        """Creates missing topics if the settings say so, and opens the index; called before the start."""
        await self.create_topics()
        await self.open_index()

    async def create_topics(self) -> None:
        """Creates missing topics if the settings say so; what that waits for is reported."""
        await self.health.start()
        if self.settings.kafka.create_topics:
            await create_topics(self.settings.kafka)

    async def start(self) -> None:
        await self.asgi.start()

    async def stop(self) -> None:
        """Finishes and commits the work in progress within the drain budget, and closes everything."""
        await self.asgi.stop()

    async def drain(self) -> None:
        """Lets every group finish. Called before the consumers close, while commits still work."""
        await self.health.stop()
        budget = self.settings.pipeline.drain_seconds
        await asyncio.gather(self._queries.drain(budget), *(group.stop(budget) for group in self.groups))
        self.drained = True

    def _open_models(self) -> None:
        if not self.settings.llm.offline and any(group.handler.asks_models for group in self.groups):
            self._own_services.open_models()

    def _preload(self) -> None:
        handlers = [group.handler for group in self.groups]
        inline = [handler for handler in handlers if self.pool is None or handler.runs == "inline"]
        for module in {module for handler in inline for module in handler.preload}:
            import_module(module)

    def _groups(self, handler: Handler) -> list[ConsumerGroup]:
        """The groups of the handler's topic and of its retry topics, which share a circuit breaker."""
        settings = self.settings
        observer = PipelineMetrics(self.metrics, handler.name)
        self.shares.expect(handler.name, [read.topic for read in subscriptions(handler)])
        breaker = Breaker(settings.processing.breaker, self._clock)
        breaker.listen(lambda: observer.breaker(breaker.closed, breaker.cause))
        dead_share = DeadShare(settings.dlq, self._clock, observer.paused)
        runner = HandlerRunner(
            handler,
            settings.rules(handler.rules),
            settings.processing.retries,
            self._services,
            self._clock,
            random.random,
            breaker,
            lambda again, replayed: observer.retried(again.reason, replayed),
            self.pool,
        )
        return [
            ConsumerGroup(
                subscription,
                RecordProcessor(
                    runner,
                    self._clock,
                    observer,
                    subscription.retry_topic,
                    self._tracer.records(handler.name, settings.kafka.topic_prefix + subscription.group),
                    dead_share.note,
                ),
                self._commits(settings, subscription.group, self._clock, observer),
                settings.pipeline,
                self._clock,
                observer,
                breaker,
                lambda read, held, of: self.shares.on_assignment(read.handler.name, read.topic, held, of),
                pause=dead_share.pause,
            )
            for subscription in subscriptions(handler)
        ]


def probe(ask: Callable[[], HealthReport]) -> Any:
    """A route that answers 200, or 503 and the problems."""

    @get(include_in_schema=False)
    async def answer(scope: Any) -> AsgiResponse:  # noqa: ARG001 - the signature is FastStream's
        verdict = ask()
        body = json.dumps({"ok": verdict.well, "problems": verdict.problems}).encode()
        return AsgiResponse(body, 200 if verdict.well else 503, {"content-type": "application/json"})

    return answer


def asyncapi_route(prefix: str) -> Any:
    """A route that answers with the AsyncAPI document of a cluster; the first request makes it, in a thread."""

    @cache
    def document() -> bytes:
        return to_yaml(asyncapi_document(prefix)).encode()

    @get(include_in_schema=False)
    async def answer(scope: Any) -> AsgiResponse:  # noqa: ARG001 - the signature is FastStream's
        return AsgiResponse(await asyncio.to_thread(document), 200, _ASYNCAPI_HEADERS)

    return answer


def faststream_app() -> _Routes:
    """The ASGI application of all handlers, which prepares its topics when it starts."""
    application = Application(load_settings().with_kafka())
    application.asgi.on_startup(application.prepare)
    return application.asgi
