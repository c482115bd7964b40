"""Runs a handler or a pure step on lines of JSON, as the pipeline runs handlers on records, without a broker.

One line is held at a time. Whatever reads pages runs in a child process, which is forked at the first line. Services
are imported when a handler first asks for one, so other trials start at once.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.html.encoding import page_bytes
from handlers.html.snippet import SourcePage, begin, extract_snippet
from handlers.listings.listing import follow_listing
from schemas.event import Event
from schemas.needs import Need, SearchVectors
from schemas.outcome import Dead, DeadReason, Outcome, Retry
from schemas.pages import Body
from schemas.relevance import SnippetFailure
from schemas.replies import Reply, VectorsUnavailable
from streams.cli.output import tell
from streams.index.settings import has_collection
from streams.pipeline.breaker import ClosedBreaker
from streams.pipeline.handler_runner import HandlerRunner, exhausted, retry_of
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, no_such, only_searches
from streams.topology.codec import MAX_DETAIL, decode, refusal
from streams.training.model_files import make_ready
from streams.workers.handler_jobs import forked_pool
from streams.workers.pool import WorkerPool

Step = Callable[[bytes], dict[str, Any] | Dead]
"""Answers a line."""


class HandlerTrial:
    """A handler under one configuration."""

    def __init__(self, handler: Handler, settings: Settings, runner: asyncio.Runner) -> None:
        """Prepares the handler.

        Raises:
            SettingsError: Sections of the configuration that are valid by themselves contradict each other, or its
                ranking trees cannot be used.
        """
        for module in handler.preload:
            import_module(module)  # a missing package is the environment's fault, not the handler's
        retry = retry_of(handler, settings.processing.retries)
        clock = SystemClock()
        self._loop = runner
        self._services = _LazyServices(settings, reads_index=only_searches([handler]))
        self._handler = handler
        self.rules = settings.rules(handler.rules)
        if (model := getattr(self.rules, "ranking_model", None)) is not None:
            make_ready(model)
        breaker = ClosedBreaker(settings.processing.breaker, clock)
        self._pool = forked_pool([(handler, self.rules)], settings.workers)
        self._runner = HandlerRunner(
            handler, self.rules, retry, self._services, clock, random.random, breaker, pool=self._pool
        )

    def decode(self, line: bytes) -> Event | Dead:
        """The event of a line."""
        return decode(self._handler.consumes, line, (), None)

    def decide(self, event: Event) -> Outcome:
        """The handler's decision on an event, after all its requests are answered."""
        if self._pool is not None:
            self._loop.run(self._pool.start())
        tried = self._loop.run(self._runner.finish(event, None, record=None))
        if isinstance(tried.outcome, Retry) and not self._handler.retry_topics:
            return exhausted(tried.outcome, tried.attempts)
        return tried.outcome

    def close(self) -> None:
        """Closes the services that the handler has used."""
        try:
            self._loop.run(self._services.aclose())
        finally:
            if self._pool is not None:
                self._loop.run(self._pool.stop())


class StepTrial:
    """A pure step under one configuration."""

    def __init__(self, name: str, settings: Settings, runner: asyncio.Runner) -> None:
        """Prepares the step of that name in ``STEPS``."""
        self._step = STEPS[name](settings)
        self._loop = runner
        workers = settings.workers
        self._pool = WorkerPool(lambda: self._step, 1, workers.limits, start="fork") if workers.processes else None

    def answer(self, line: bytes) -> dict[str, Any] | Dead:
        """The answer to a line."""
        if self._pool is None:
            return self._step(line)
        self._loop.run(self._pool.start())
        result: dict[str, Any] | Dead = self._loop.run(self._pool.run(line))
        return result

    def close(self) -> None:
        """Ends the child process."""
        if self._pool is not None:
            self._loop.run(self._pool.stop())


class _LazyServices:
    """The pipeline's services, imported and created when a handler first requests one."""

    def __init__(self, settings: Settings, reads_index: bool) -> None:
        self._settings = settings
        self._reads_index = reads_index
        self._live: Any = None

    async def answer(self, need: Need, run: str | None) -> Reply:
        if self._reads_index and isinstance(need, SearchVectors) and (missing := self._missing_index()):
            return VectorsUnavailable(missing)
        if self._live is None:
            from streams.pipeline.services import LiveServices
            from streams.telemetry.setup import configure_logs

            # structlog writes to standard output by default, which is for answers only.
            configure_logs(self._settings.logs.level, self._settings.logs.format)
            settings = self._settings
            if not self._reads_index:
                # A trial changes no index: it uses an empty one in memory.
                index = settings.index.model_copy(update={"url": "", "path": None})
                settings = settings.model_copy(update={"index": index})
            self._live = LiveServices(settings, at_once=True)
        reply: Reply = await self._live.answer(need, run)
        return reply

    def _missing_index(self) -> str:
        """Why no index can be read; "" if there is one. Opening a missing index would create it."""
        index = self._settings.index
        if index.url or has_collection(index):
            return ""
        where = f"at {index.path.resolve()}" if index.path is not None else "in memory"
        return (
            f"there is no index {where}: name one with ASSAY_INDEX__PATH or ASSAY_INDEX__URL,"
            " or put candidates into the request"
        )

    async def aclose(self) -> None:
        if self._live is not None:
            await self._live.aclose()


class ListingInput(BaseModel):
    """The input of the step ``follow_listing``."""

    model_config = ConfigDict(extra="ignore")

    url: str
    html: str
    query: str = ""
    max_details: int = Field(default=5, ge=1, le=10_000)


class SnippetInput(BaseModel):
    """The input of the step ``extract_snippet``: a source to be judged, or a crawled page."""

    model_config = ConfigDict(extra="ignore")

    url: str = ""
    title: str | None = None
    html: str | None = None
    html_base64: Body | None = None
    content_type: str | None = None
    content: str | None = None

    def page(self) -> str | None:
        """The HTML; None if there is no HTML."""
        if self.html is None and self.html_base64 is not None:
            return page_bytes(self.html_base64, self.content_type).utf8.decode("utf-8", "replace")
        return self.html


I = TypeVar("I", bound=BaseModel)  # noqa: E741 - what a step reads


def _listing(settings: Settings) -> Step:
    def answer(asked: ListingInput) -> dict[str, Any]:
        found = follow_listing(
            asked.html, asked.url, asked.query, asked.max_details, settings.listing, settings.page_reading
        )
        links = [{"url": link.url, "text": link.text, "because": link.because} for link in found.links]
        return {"links": links, "next_page": found.next_page}

    return _step(ListingInput, answer)


def _snippet(settings: Settings) -> Step:
    reading, limits = settings.page_reading, settings.relevance_gate.snippet

    def answer(asked: SnippetInput) -> dict[str, Any]:
        page = SourcePage(asked.page(), asked.content, asked.title or "", reading)
        seen, snippet = begin(page, limits), extract_snippet(page, limits) or None
        return {
            "url": asked.url,
            "title": seen.title,
            "summary": seen.summary,
            "snippet": snippet,
            "failure": None if snippet else str(SnippetFailure.NO_MEANINGFUL_CONTENT),
        }

    return _step(SnippetInput, answer)


def _step(kind: type[I], answer: Callable[[I], dict[str, Any]]) -> Step:
    def step(line: bytes) -> dict[str, Any] | Dead:
        try:
            asked = kind.model_validate_json(line)
        except ValidationError as error:
            return refusal(error)
        try:
            return answer(asked)
        except Exception as error:
            return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])

    return step


STEPS: Mapping[str, Callable[[Settings], Step]] = {"follow_listing": _listing, "extract_snippet": _snippet}
"""The pure steps that ``assay try`` can run, by name."""


def unknown_handler(name: str) -> int:
    """Prints the known names, and returns the exit status for wrong usage."""
    known = [*(handler.name for handler in HANDLERS), *STEPS]
    return tell("try", no_such("handler", name, known), 2)


def dumped(value: Any) -> str:
    """JSON for any output: lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
