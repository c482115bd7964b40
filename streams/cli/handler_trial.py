"""Runs a handler or a pure step on lines of JSON, as the pipeline runs handlers on records, without a broker.

One line is held at a time. Whatever reads pages runs in a child process, which is forked at the first line. Services
are imported when a handler first asks for one, so other trials start at once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.html.encoding import page_bytes
from handlers.html.snippet import SourcePage, begin, extract_snippet
from handlers.listings.listing import follow_listing
from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Outcome, Retry
from schemas.pages import Body
from schemas.relevance import SnippetFailure
from streams.cli.output import tell
from streams.pipeline.handler_runner import exhausted
from streams.pipeline.local import LocalHandler
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, no_such
from streams.topology.codec import MAX_DETAIL, refusal
from streams.workers.pool import WorkerPool

Step = Callable[[bytes], dict[str, Any] | Dead]
"""Answers a line."""


class HandlerTrial:
    """A handler under one configuration, for code without an event loop of its own. Raises as ``LocalHandler``."""

    def __init__(self, handler: Handler, settings: Settings, runner: asyncio.Runner) -> None:
        self._handler = handler
        self._loop = runner
        self._opening = LocalHandler.open(settings, handler, before_services=partial(_set_up_log, settings))
        self._local = runner.run(self._opening.__aenter__())
        self.rules = self._local.rules

    def decide(self, event: Event) -> Outcome:
        tried = self._loop.run(self._local.attempt(event))
        if isinstance(tried.outcome, Retry) and not self._handler.retry_topics:
            return exhausted(tried.outcome, tried.attempts)
        return tried.outcome

    def close(self) -> None:
        self._loop.run(self._opening.__aexit__(None, None, None))


class StepTrial:
    """A pure step of ``STEPS`` under one configuration."""

    def __init__(self, name: str, settings: Settings, runner: asyncio.Runner) -> None:
        self._step = STEPS[name](settings)
        self._loop = runner
        workers = settings.workers
        self._pool = WorkerPool(lambda: self._step, 1, workers.limits, start="fork") if workers.processes else None

    def decide(self, line: bytes) -> dict[str, Any] | Dead:
        if self._pool is None:
            return self._step(line)
        self._loop.run(self._pool.start())
        result: dict[str, Any] | Dead = self._loop.run(self._pool.run(line))
        return result

    def close(self) -> None:
        if self._pool is not None:
            self._loop.run(self._pool.stop())


class ListingInput(BaseModel):
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


def _set_up_log(settings: Settings) -> None:
    # structlog writes to standard output by default, which is for answers only.
    from streams.telemetry.setup import configure_logs  # not at the top: most trials log nothing

    configure_logs(settings.logs.level, settings.logs.format)
