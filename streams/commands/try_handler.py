"""``assay try``: a handler or a pure step on one event a line, without a broker.

In: lines of JSON, each an event of the topic that the handler reads. Out: one line for each, in order:
``{"outcome", "reason", "events": [{"topic", "key", "value"}]}``. A bad line gives ``dead`` with a reason and the run
goes on. It streams, holds one line at a time, and imports neither Kafka nor a model's client, so it starts at once.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.page.listing import follow_listing
from schemas.outcome import Ask, Dead, DeadReason, Drop, Emit, Need, Reply, Retry
from streams.clock import SystemClock
from streams.codec import MAX_DETAIL, decode, refusal
from streams.pipeline.breaker import Breaker
from streams.pipeline.decide import Decider, exhausted, retry_of
from streams.settings import Settings
from streams.topology import HANDLERS, TOPIC_BYTES, Handler, handler_named, topic_of

Answer = Callable[[bytes], tuple[str, bool]]
"""A line's answer, and whether the line was dead."""


class ListingInput(BaseModel):
    """What the step ``follow_listing`` reads."""

    model_config = ConfigDict(extra="ignore")

    url: str
    html: str
    query: str = ""
    max_details: int = Field(default=5, ge=1, le=10_000)


STEPS = ("follow_listing",)
"""Pure steps that can be tried by themselves."""


def run_try(name: str, file: Path | None, settings: Settings, strict: bool) -> int:
    """Answers every line of a file or of standard input.

    Args:
        name: A handler, or a step of ``STEPS``.
        file: Where the lines are; standard input where None.
        settings: The configuration to decide under.
        strict: Whether a dead line makes the exit status 1.

    Returns:
        0; 1 for a dead line under ``strict`` or a file that can't be read; 2 for an unknown name.
    """
    handler = handler_named(name)
    if handler is None and name not in STEPS:
        known = ", ".join([*(h.name for h in HANDLERS), *STEPS])
        print(f"assay try: there is no handler {name!r}; there are {known}", file=sys.stderr)
        return 2
    try:
        source = sys.stdin.buffer if file is None else file.open("rb")
    except OSError as error:
        print(f"assay try: {file}: {error.strerror}", file=sys.stderr)
        return 1
    with source, asyncio.Runner() as runner:
        tried = _HandlerTrial(handler, settings, runner) if handler else _ListingTrial(settings)
        try:
            dead = _answer_all(source, tried.answer)
        finally:
            tried.close()
    return 1 if dead and strict else 0


def _answer_all(source: IO[bytes], answer: Answer) -> int:
    """Writes one line for each line read; returns how many were dead."""
    dead = 0
    for line in _lines(source):
        if line is None:
            text, died = _dead_line(Dead(DeadReason.TOO_LARGE, f"the line is longer than {TOPIC_BYTES} bytes")), True
        else:
            text, died = answer(line)
        dead += died
        # Bytes, for the terminal's encoding is not the data's.
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
    return dead


def _lines(source: IO[bytes]) -> Iterator[bytes | None]:
    """Lines without their ends; None for a line longer than any topic takes, which is never held as a whole."""
    while line := source.readline(TOPIC_BYTES + 1):
        if len(line) > TOPIC_BYTES and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = source.readline(TOPIC_BYTES)
            yield None
        else:
            yield line.rstrip(b"\r\n")


class _HandlerTrial:
    """Runs a handler on lines as the pipeline runs it on records."""

    def __init__(self, handler: Handler, settings: Settings, runner: asyncio.Runner) -> None:
        retry = retry_of(handler, settings.processing.retries)
        clock = SystemClock()
        self._runner = runner
        self._world = _World(settings)
        self._handler = handler
        self._decider = Decider(
            handler,
            settings.rules(handler.rules),
            retry,
            self._world,
            clock,
            random.random,
            Breaker(settings.processing.breaker, clock),
        )

    def answer(self, line: bytes) -> tuple[str, bool]:
        """The line for one line."""
        event = decode(self._handler.consumes, line, (), None)
        if isinstance(event, Dead):
            return _dead_line(event), True
        outcome = self._decider.decide(event)
        if isinstance(outcome, Ask | Retry):
            tried = self._runner.run(self._decider.finish(event, outcome, record=None))
            outcome = tried.outcome
            if isinstance(outcome, Retry) and not self._handler.tiers:
                outcome = exhausted(outcome, tried.attempts)
        match outcome:
            case Emit(events):
                return _emit_line(events)
            case Drop(reason):
                return json.dumps({"outcome": "drop", "reason": reason, "events": []}), False
            case Retry(reason):
                return json.dumps({"outcome": "retry", "reason": reason, "events": []}), False
            case Dead():
                return _dead_line(outcome), True

    def close(self) -> None:
        """Closes what the handler's needs have opened."""
        self._runner.run(self._world.aclose())


class _World:
    """The pipeline's world, made only when a handler asks: the HTTP client is not imported before."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._live: Any = None

    async def answer(self, need: Need) -> Reply:
        if self._live is None:
            from streams.telemetry.logs import configure_logs
            from streams.world import LiveWorld

            # Standard output is for answers alone; structlog writes there until it is told otherwise.
            configure_logs(self._settings.logs.level, self._settings.logs.format)
            self._live = LiveWorld(self._settings.fetch)
        reply: Reply = await self._live.answer(need)
        return reply

    async def aclose(self) -> None:
        if self._live is not None:
            await self._live.aclose()


class _ListingTrial:
    """Runs the pure step ``follow_listing`` on lines."""

    def __init__(self, settings: Settings) -> None:
        self._listing = settings.listing
        self._reading = settings.page_reading

    def answer(self, line: bytes) -> tuple[str, bool]:
        """The bare line for one line: ``{"links": [{"url", "text", "because"}], "next_page"}``."""
        try:
            asked = ListingInput.model_validate_json(line)
        except ValidationError as error:
            return _dead_line(refusal(error)), True
        try:
            found = follow_listing(asked.html, asked.url, asked.query, asked.max_details, self._listing, self._reading)
        except Exception as error:
            return _dead_line(Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])), True
        links = [{"url": link.url, "text": link.text, "because": link.because} for link in found.links]
        return _dumped({"links": links, "next_page": found.next_page}), False

    def close(self) -> None:
        """Nothing is open."""


def _emit_line(events: tuple[Any, ...]) -> tuple[str, bool]:
    try:
        parts = [
            f'{{"topic":{json.dumps(topic.name)},"key":{_dumped(topic.key(event))},"value":{event.to_json().decode()}}}'
            for event in events
            for topic in (topic_of(event),)
        ]
    except (ValueError, RecursionError) as error:
        return _dead_line(Dead(DeadReason.OUTPUT_INVALID, str(error))), True
    return f'{{"outcome":"emit","reason":null,"events":[{",".join(parts)}]}}', False


def _dead_line(refused: Dead) -> str:
    return _dumped({"outcome": "dead", "reason": refused.reason, "detail": refused.detail, "events": []})


def _dumped(value: Any) -> str:
    """JSON that any output takes: characters that no encoding has are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
