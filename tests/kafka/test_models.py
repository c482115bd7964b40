"""A handler that asks a model, through a real Kafka: outages, limits by partitions, and answers that are paid once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from schemas.needs import Ask, AskModel, Message
from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage, ScoredPage
from schemas.replies import ModelFailed, ModelReply, ModelUnavailable, Reply
from schemas.rules import Rules
from streams.app.application import Application
from streams.topology import HANDLERS, Handler
from tests.kafka.installation import Installation, Installing, NoRules, page, scored, until
from tests.samples import instance
from tests.streams.llm.model_server import model_server, says, slow

PAGES = 6


def ask(event: CrawledPage, _: Rules) -> Ask:
    """Asks about every page."""
    return Ask(AskModel("score_page", "0123456789ab", (Message("user", event.url),), {"url": event.url}, 10, 0.0))


def conclude(event: CrawledPage, replies: tuple[Reply, ...], rules: Rules) -> Outcome:
    """The reply as the page's content; while no model is available it decides nothing."""
    reply = replies[-1]
    if isinstance(reply, ModelUnavailable):
        return reply.retry()
    answer = instance(Emit, scored(event, rules))
    [output] = answer.events
    text = reply.text if isinstance(reply, ModelReply) else str(isinstance(reply, ModelFailed))
    return Emit((output.model_copy(update={"content": text}),))


def asker() -> Handler:
    asks = frozenset({AskModel})
    return replace(
        HANDLERS[0], fn=ask, read=conclude, rules=NoRules, rounds=1, asks=asks, concurrency=8, lane="llm", replay="paid"
    )


async def settled(installing: Installing, base_url: str, folder: Path, **llm: Any) -> Installation:
    """An installation whose breakers rest shortly."""
    return await installing(
        [asker()],
        partitions=4,
        llm={"base_url": base_url, "model": "m", "cache_path": folder / "llm.sqlite", **llm},
        models={
            "limits": {"default": {"requests_per_minute": 60_000, "tokens_per_minute": 10_000_000, "in_flight": 48}},
            "replay_share": 0.0,
        },
    )


async def contents(place: Installation) -> list[str]:
    return [event.content for event in await place.events(ScoredPage)]


async def test_each_process_has_the_share_of_its_partitions(installing: Installing, tmp_path: Path) -> None:
    async with model_server(slow(0.01, says("fine"))) as server:
        place = await settled(installing, server.base_url, tmp_path)
        async with place.running(asker()) as first:
            await until(lambda: share(first) == 1.0)
            async with place.running(asker()) as second:
                await until(lambda: share(first) == share(second) == 0.5)
                await place.feed([page(number) for number in range(20)])
                await until(first.caught_up, times=2)
                await until(second.caught_up, times=2)
            await until(lambda: share(first) == 1.0)
        assert share(first) == 0.0
        assert len(await contents(place)) == 20


def share(application: Application) -> float:
    return application.shares.of("score_page")
