"""``assay run``: runs handlers as consumer groups until a signal or, with ``--drain``, until they are caught up.

A first signal finishes the work in progress and exits 0; a second one, or work that does not end, exits 1. Failed
liveness checks exit 1, because only a restart helps.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import structlog
from typer import Argument, Option

from schemas.documents import IndexChange
from schemas.states import State
from streams.cli.command import AsJson, Config, find_handlers, load_settings, run_with_kafka, stop_on_signals
from streams.cli.output import say_json, tell
from streams.llm.checks import checks_of_models
from streams.runtime.process import freeze_gc, watchdog
from streams.settings.model import Settings
from streams.telemetry.metrics import Metrics, counted
from streams.telemetry.setup import configure_logs
from streams.topology import Handler

if TYPE_CHECKING:
    from streams.app.application import Application

log = structlog.get_logger("assay")

_LOOK_SECONDS = 0.3
_CANCEL_SECONDS = 5.0  # the time that cancelled tasks have, before the rest is stopped


def run(
    handlers: Annotated[list[str] | None, Argument(help="Which handlers; all by default.")] = None,
    drain: Annotated[bool, Option("--drain", help="Stop when caught up.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    chosen, settings = find_handlers(handlers), load_settings(config).with_kafka()
    configure_logs(settings.logs.level, settings.logs.format)
    began = time.monotonic()
    result: dict[str, Any] = {"caught_up": False}

    async def work() -> int:
        status, result["caught_up"], result["summary"] = await _run(chosen, settings, drain)
        return status

    status = run_with_kafka("run", settings, work())
    if drain and "summary" in result:
        for line in summary_lines(result["summary"]):
            tell("run", line)
    if as_json:
        seconds = round(time.monotonic() - began, 2)
        say_json({"handlers": [handler.name for handler in chosen], **result, "seconds": seconds})
    return status


async def _run(handlers: Sequence[Handler], settings: Settings, drain: bool) -> tuple[int, bool, dict[str, Any]]:
    """Returns the exit status, whether the handlers are caught up, and what they did."""
    from streams.app.application import Application
    from streams.http.server import HttpServer

    stop = stop_on_signals()
    application = Application(settings, handlers)
    judged = {handler.name: settings.model_of(handler.name) for handler in handlers if handler.asks_models}
    for check in checks_of_models(settings.llm, settings.models, judged):
        if check.state != "ok":
            log.warning(check.sentence)
        elif check.what == "rate":
            log.info(check.sentence)
    await application.open_index()
    # If the loop does not turn for a session timeout, the group has lost its partitions.
    async with (
        watchdog(2 * settings.kafka.session_timeout_seconds),
        HttpServer(application.asgi, settings.http) as http,
    ):
        try:
            status, caught_up = await _watch(application, stop, http.address, drain)
        finally:
            drained = await _stop(application, settings)
    log.info("stopped", caught_up=caught_up)
    summary = summary_of(application.metrics, [handler.name for handler in handlers])
    return (status if drained else 1), caught_up, summary


async def _stop(application: Application, settings: Settings) -> bool:
    """Stops within the budget and a margin for closing connections; returns whether it succeeded."""
    from aiokafka.errors import KafkaError

    try:
        async with asyncio.timeout(settings.pipeline.drain_seconds + 10):
            await application.stop()
    except (TimeoutError, KafkaError, OSError) as error:
        log.error("stopping took too long", error=repr(error))
        return False
    return True


async def _work(application: Application, address: str, drain: bool) -> None:
    """Starts the application, and returns when it is caught up; without ``drain``, never."""
    await application.create_topics()
    await application.start()
    freeze_gc()
    log.info("running", handlers=list(dict.fromkeys(group.handler.name for group in application.groups)), http=address)
    if drain:
        await application.drain_detector.wait(lambda reason: log.info("waiting", reason=reason))
    else:
        await asyncio.Event().wait()


async def _watch(application: Application, stop: asyncio.Event, address: str, drain: bool) -> tuple[int, bool]:
    """Works until a signal, failed liveness checks, the end of the work, or the end of the patience with its delays."""
    asked = asyncio.create_task(stop.wait())
    working = asyncio.create_task(_work(application, address, drain))
    try:
        while not stop.is_set():
            await asyncio.wait({asked, working}, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return 0, True
            if drain and (reasons := _out_of_patience(application)):
                tell("run", f"not caught up: {'; '.join(reasons)}; nothing is lost, run it again")
                return 1, False
            if application.health.wedged():
                log.error("wedged; a restart may help", problems=application.health.alive().problems)
                return 1, False
        return 0, False
    finally:
        asked.cancel()
        working.cancel()
        done, _ = await asyncio.wait({asked, working}, timeout=_CANCEL_SECONDS)
        for task in done:
            if not task.cancelled():
                task.exception()  # retrieved, so that asyncio does not log it


def _out_of_patience(application: Application) -> Sequence[str]:
    settings = application.settings
    waiting = application.health.waiting(settings.processing.breaker.drain_patience_seconds)
    seconds, reason = application.drain_detector.held_up
    # Twice the timeout: the broker checks for expired transactions only from time to time.
    if seconds > 2 * settings.kafka.transaction_timeout_seconds:
        return [*waiting.problems, f"{reason}, for {seconds:.0f} s"]
    return waiting.problems


def summary_of(metrics: Metrics, handlers: Sequence[str]) -> dict[str, Any]:
    """For each handler its inputs and outcomes, with the reasons; for ``score_page`` also the tiers of its pages."""
    found: dict[str, Any] = {name: {"in": 0, "outcomes": Counter()} for name in handlers}
    for labels, count in counted(metrics.handler_events_total):
        if labels["handler"] in found and count:
            done = found[labels["handler"]]
            done["in"] += int(count)
            done["outcomes"][" ".join(filter(None, (labels["outcome"], labels["reason"])))] += int(count)
    if "score_page" in found:
        tiers, states = Counter(dict.fromkeys("ABC", 0)), Counter[str]()
        for labels, count in counted(metrics.pages_scored_total):
            tiers[labels["tier"]] += int(count)
        for labels, count in counted(metrics.page_states_total):
            states[labels["state"]] += int(count)
        found["score_page"] |= {"tiers": tiers, "states": +states}
    if "index_page" in found:
        found["index_page"]["points"] = int(sum(count for _, count in counted(metrics.index_points_written_total)))
        found["index_page"]["outdated"] = outdated_writes(metrics)
    return found


def summary_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    for name, done in summary.items():
        if not done["in"]:
            continue
        parts = [f"{count} {'done' if outcome == 'emit' else outcome}" for outcome, count in done["outcomes"].items()]
        if "tiers" in done:
            parts[0] += f" ({', '.join(f'{tier} {count}' for tier, count in done['tiers'].items())})"
        if "points" in done:
            parts.append(f"{done['points']} points written")
        if done.get("outdated"):
            parts.append(f"{done['outdated']} of {done['in']} were outdated")
        without = {state: count for state, count in done.get("states", {}).items() if state != State.CONTENT}
        if without:
            parts.append(f"without content: {', '.join(f'{state} {count}' for state, count in without.items())}")
        yield f"{name} {done['in']} in: {', '.join(parts)}"
    if idle := [name for name, done in summary.items() if not done["in"]]:
        yield f"nothing to do for {', '.join(idle)}"


def outdated_writes(metrics: Metrics) -> int:
    """Writes of pages of which the index had a newer version."""
    found = counted(metrics.documents_indexed_total)
    return int(sum(count for labels, count in found if labels["change"] == IndexChange.OUTDATED))
