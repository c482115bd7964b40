"""Everything that an installation can experience in a minute, in front of a real Prometheus: the demonstration, workers
that ask a model with a price and fail once for every record, an outage, a replay, and a stopped group.
"""

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, make_asgi_app

from schemas.claims import ExtractedClaim
from schemas.event import Event
from schemas.needs import Ask
from schemas.outcome import Outcome, Retry, RetryReason
from schemas.replays import ReplayState
from streams.app.application import Application
from streams.cli.lag_server import lag_exporter
from streams.demo import feed
from streams.demo.run import Demo, running
from streams.http.server import HttpServer
from streams.replay.plan_store import PlanSession, PlanStore
from streams.replay.run import run_plan
from streams.runtime.clock import SystemClock
from streams.settings.model import HttpSettings, Settings, load_settings
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS, TOPICS, Handler, topic_of
from tests.kafka.installation import Installation, installed, page, until
from tests.kafka.replays import planned
from tests.prometheus.server import Prometheus, free_port
from tests.prometheus.worlds import LAG_READER, REPLAYS, WORKERS
from tests.streams.llm.judges import GOOD
from tests.streams.llm.model_server import Behaviour, ModelServer, Wire, model_server, says, slow, status

ROUNDS, ROUND_SECONDS = 8, 2.0
"""Everything is fed so often and so far apart, since a counter that never grows has no rate."""
PAGES_A_ROUND = 10
REPLAYED_A_SECOND = 40.0
BROKEN = "decontextualize_claim"
"""Whose model has the outage."""
TREES = Path(__file__).parents[1] / "handlers" / "ranking" / "frozen"
"""Whose agreement is seen while they re-rank in shadow."""
SCRAPES_SECONDS = 4.0
"""Gives Prometheus time to scrape the final values."""


@dataclass(frozen=True)
class Scene:
    """What was played.

    Attributes:
        began: Seconds of the epoch.
        ended: The last moment at which everything was still there to be scraped.
        registries: What the workers had counted then: of the demonstration, and of those that ask a model.
    """

    began: float
    ended: float
    registries: tuple[CollectorRegistry, ...]


@dataclass(frozen=True)
class Places:
    """Where each part of the scene answers."""

    demo: int
    workers: int
    lag: int
    replay: int

    def targets(self) -> dict[str, dict[str, str]]:
        """Addresses by job and service; the demonstration serves as one worker, the model askers as another."""
        local = "127.0.0.1:{}".format
        return {
            WORKERS: {"score-page": local(self.demo), "judge-relevance": local(self.workers)},
            LAG_READER: {"lag": local(self.lag)},
            REPLAYS: {"replay": local(self.replay)},
        }


def places() -> Places:
    """Free ports."""
    return Places(*(free_port() for _ in range(4)))


async def play(kafka: str, prefix: str, folder: Path, here: Places, server: Prometheus) -> Scene:
    """Plays it all; ``server`` scrapes it from the beginning."""
    began = time.time()
    async with AsyncExitStack() as stack:
        demo = await _demonstrated(kafka, prefix, here, stack)
        place, model = await _place(kafka, prefix, folder, stack)
        exporter = lag_exporter(place.settings, HANDLERS, SystemClock())
        await stack.enter_async_context(HttpServer(exporter, HttpSettings(port=here.lag)))
        application = Application(place.settings, [_fails_once(handler) for handler in HANDLERS])
        await stack.enter_async_context(HttpServer(application.asgi, HttpSettings(port=here.workers)))
        try:
            await application.start()
            await asyncio.to_thread(server.wait_until_up, WORKERS)
            await _work(place, application, model)
            await asyncio.to_thread(server.wait_until_up, WORKERS)
        finally:
            await application.stop()
        await _replay(place.settings, folder, here, stack)
        # These records are not read: the groups are stopped.
        await _feed(place, feed.events(datetime.now(UTC)))
        await asyncio.sleep(2 * SCRAPES_SECONDS)
        await asyncio.to_thread(server.wait_until_up, WORKERS, LAG_READER, REPLAYS)
        # Rules are evaluated as often as this, and see what was scraped before.
        await asyncio.sleep(SCRAPES_SECONDS)
        await asyncio.to_thread(server.wait_until_up, WORKERS, LAG_READER, REPLAYS)
        return Scene(began, time.time(), (demo.application.registry, application.registry))


async def _demonstrated(kafka: str, prefix: str, here: Places, stack: AsyncExitStack) -> Demo:
    """The demonstration as ``assay demo`` runs it, with everything done, and still running."""
    settings = load_settings(
        kafka={"bootstrap_servers": kafka, "topic_prefix": prefix}, http={"host": "127.0.0.1", "port": here.demo}
    )

    def nothing(_: object) -> None:
        pass

    demo = await stack.enter_async_context(running(settings, nothing))
    await demo.work(nothing)
    return demo


async def _place(kafka: str, prefix: str, folder: Path, stack: AsyncExitStack) -> tuple[Installation, ModelServer]:
    """An installation whose model has a price and a name for each task, and which fetches from the sample web."""
    served = HttpSettings(port=0, allowed_hosts=feed.hosts())
    web = await stack.enter_async_context(HttpServer(feed.serve, served))
    model = await stack.enter_async_context(model_server(slow(0.05, _judge())))
    place = await installed(
        kafka,
        f"{prefix}model.",
        HANDLERS,
        TOPICS,
        partitions=12,
        fetch={
            "resolve": dict.fromkeys(feed.hosts(), web.address),
            "min_delay_seconds": 0.05,
            "cache_path": folder / "fetch.sqlite",
        },
        llm={
            "base_url": model.base_url,
            "model": "small",
            "cache_path": folder / "llm.sqlite",
            "budget_usd_per_day": 5.0,
        },
        model_tasks={task: {"model": task} for task in GOOD},
        models={"limits": {"default": {"price_in": 1.0, "price_out": 2.0, "requests_per_minute": 60_000}}},
        ranking={"trees": {"mode": "shadow", "model": str(TREES)}},
    )
    return place, model


def _judge() -> Behaviour:
    """A valid reply for each task; every task has a separate model."""

    async def behave(wire: Wire) -> None:
        await says(GOOD[wire.asked.body["model"]])(wire)

    return behave


def _fails_once(handler: Handler) -> Handler:
    """The handler, which can't be reached the first time that it is asked about an event."""
    seen: Counter[str] = Counter()
    fn = handler.fn

    def decide(event: Event, rules: Any) -> Outcome | Ask:
        key = event.to_json().decode()
        seen[key] += 1
        return Retry(RetryReason.UNAVAILABLE, "the first time") if seen[key] == 1 else fn(event, rules)

    return replace(handler, fn=decide, runs="inline")


async def _work(place: Installation, application: Application, model: ModelServer) -> None:
    """Rounds of the demonstration's events, pages and malformed records; then an outage of the model."""
    for number in range(ROUNDS):
        await _feed(place, [_another(event, number) for event in (*feed.events(datetime.now(UTC)), *feed.queries())])
        for handler in HANDLERS:
            await place.feed([(b"broken", b"{")], handler.consumes.name)
        await place.feed([page(number * PAGES_A_ROUND + each) for each in range(PAGES_A_ROUND)])
        await asyncio.sleep(ROUND_SECONDS)
    await until(application.caught_up, times=3, seconds=120)
    behave, model.behave = model.behave, status(401)
    claims = [_another(claim, ROUNDS) for claim in feed.events(datetime.now(UTC)) if isinstance(claim, ExtractedClaim)]
    await _feed(place, [claim.model_copy(update={"claim_text": f"So {claim.claim_text}"}) for claim in claims])
    await until(
        lambda: application.registry.get_sample_value("assay_llm_breaker_open", {"model": BROKEN}) == 1, seconds=120
    )
    await asyncio.sleep(SCRAPES_SECONDS)
    model.behave = behave
    await until(application.caught_up, times=3, seconds=120)


def _another(event: Any, number: int) -> Any:
    """The event under another id; a page stays the page it is."""
    names = ("batch_id", "claim_id", "request_id", "utterance_id")
    return event.model_copy(update={name: f"{getattr(event, name)}-{number}" for name in names if hasattr(event, name)})


async def _feed(place: Installation, events: list[Any]) -> None:
    for event in events:
        topic = topic_of(event)
        await place.feed([(topic.key(event).encode(), event.to_json())], topic.name)


async def _replay(settings: Settings, folder: Path, here: Places, stack: AsyncExitStack) -> None:
    """Pages and sources twice more, with a journal of the replays' own: the first time sources cost money again."""
    metrics = Metrics(CollectorRegistry())
    asgi = make_asgi_app(metrics.registry)
    await stack.enter_async_context(HttpServer(asgi, HttpSettings(port=here.replay)))
    llm = settings.llm.model_copy(update={"cache_path": folder / "replays.sqlite"})
    settings = settings.model_copy(update={"llm": llm})
    wishes: dict[str, Any] = {"rate": REPLAYED_A_SECOND, "max_cost_usd": 1.0}
    for name in ("first", "second"):
        for handler in ("score_page", "judge_relevance"):
            await planned(settings, handler, plan=f"{name}_{handler}", **wishes)
            async with PlanStore(settings, SystemClock()) as store:
                session = PlanSession(settings, store, f"{name}_{handler}", SystemClock(), metrics, asyncio.Event())
                plan = await run_plan(session)
            assert plan.state is ReplayState.FINISHED, plan.detail
