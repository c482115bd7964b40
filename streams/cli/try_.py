"""``assay try``: runs a handler or a pure step on one event a line, without a broker."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError
from typer import Argument, BadParameter, Option

import schemas
from handlers.html.encoding import page_bytes
from handlers.html.read_page import StatedReader
from handlers.html.snippet import SourcePage, begin, paragraphs_of, snippet_of
from handlers.listings.listing import follow_listing
from handlers.text.patterns import DetailPatterns
from schemas.event import Event
from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry
from schemas.pages import Body
from schemas.relevance import SnippetFailure
from streams.cli.command import AsJson, CommandError, Config, load_settings
from streams.cli.output import Refusals, say_json, tell
from streams.cli.progress import read_events
from streams.pipeline.handler_runner import exhausted
from streams.pipeline.local import LocalHandler
from streams.publish.entries import STANDARD_INPUT_PATH, read_lines, too_long
from streams.publish.sources import check_source, holds_pages, read_pages
from streams.replay.comparisons import compare, comparison_of, not_comparable
from streams.runtime.amounts import in_kinds
from streams.runtime.terminal import dumped
from streams.settings.model import Settings
from streams.topology import HANDLERS, Handler, Topic, handler_named, no_such, topic_of
from streams.topology.codec import MAX_DETAIL, from_json, refusal
from streams.workers.pool import WorkerPool

_NO_EVENT = (DeadReason.UNDECODABLE, DeadReason.INVALID, DeadReason.TOO_LARGE)


def try_(
    handler: Annotated[str, Argument(help="A handler (score_page, …) or a step: follow_listing, extract_snippet.")],
    file: Annotated[
        Path | None, Argument(help="Events, one a line; HTML file or folder; standard input by default.")
    ] = None,
    strict: Annotated[bool, Option("--strict", help="Exit 1 if any event was dead.")] = False,
    diff: Annotated[bool, Option("--diff", help="Report what --config changes.")] = False,
    limit: Annotated[int, Option(min=0, help="Differences that --diff shows in full.")] = 50,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    if diff and config is None:
        raise BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    if handler_named(handler) is None and handler not in STEPS:
        known = [*(handler.name for handler in HANDLERS), *STEPS]
        raise CommandError(no_such("handler", handler, known), 2)
    settings = load_settings(None if diff else config)
    if diff:
        other = load_settings(config)
        return run_diff(handler, file, settings, other, limit=limit, strict=strict, as_json=as_json)
    return run_try(handler, file, settings, strict=strict)


def run_try(name: str, file: Path | None, settings: Settings, *, strict: bool) -> int:
    handler = handler_named(name)
    topic = handler.consumes if handler else None
    answers, passed = _Answers(topic), Counter[str]()
    with asyncio.Runner() as runner:
        trial = HandlerTrial(handler, settings, runner) if handler else StepTrial(name, settings, runner)
        with closing(trial):
            for place, given in _inputs(file or STANDARD_INPUT_PATH, topic, passed):
                answers.write(place, given if isinstance(given, Dead | Drop) else trial.decide(_asked_now(given)))
    answers.refusals.tell_rest("that are no events")
    if kinds := in_kinds(passed):
        tell("try", kinds)
    return 1 if answers.refusals.count or (answers.dead and strict) else 0


def _inputs(path: Path, topic: Topic | None, passed: Counter[str]) -> Iterator[tuple[str, Any]]:
    """The events of lines, or the pages of a folder or an HTML file, with their places; for a step, bare lines."""
    if topic is None:
        for line in read_lines(path):
            yield line.place, too_long() if line.content is None else line.content.rstrip(b"\r\n")
        return
    check_source(path, topic, "jsonl")
    pages = path != STANDARD_INPUT_PATH and holds_pages(path)
    for found in read_pages(path, topic, passed) if pages else read_events("try", path, topic, quiet=True):
        yield found.place, found.event


def _asked_now(given: Any) -> Any:
    """An event that says when its query was asked: now, where it does not say it."""
    is_query = isinstance(given, Event) and given.time_field == "requested_at"
    return given.arrived(datetime.now(UTC)) if is_query else given


class _Answers:
    def __init__(self, topic: Topic | None) -> None:
        self._topic = topic
        self.dead = 0
        self.refusals = Refusals("try")

    def write(self, place: str, answer: Outcome | dict[str, Any]) -> None:
        if isinstance(answer, Dead):
            self.dead += 1
            if answer.reason in _NO_EVENT:
                self.refusals.add(f"{place}: {answer.reason}: {answer.detail}{self._examples(answer)}")
        say_json(answer if isinstance(answer, dict) else _line(answer))

    def _examples(self, answer: Dead) -> str:
        """Where events of this kind are, for the first line that is JSON of something else."""
        if self.refusals.count or answer.reason is not DeadReason.INVALID or self._topic is None:
            return ""
        return f"; events of this kind are in {Path(schemas.__file__).parent / 'examples' / self._topic.name}"


def _line(outcome: Outcome) -> bytes | dict[str, Any]:
    if isinstance(outcome, Emit):
        try:
            parts = [
                f'{{"topic":{json.dumps(topic.name)},"key":{dumped(topic.key(event))},"value":{event.to_json().decode()}}}'
                for event in outcome.events
                for topic in (topic_of(event),)
            ]
        except (ValueError, RecursionError) as error:
            outcome = Dead(DeadReason.OUTPUT_INVALID, str(error))
        else:
            return f'{{"outcome":"emit","reason":null,"events":[{",".join(parts)}]}}'.encode()
    detail = {} if isinstance(outcome, Drop) else {"detail": outcome.detail}
    return {"outcome": type(outcome).__name__.lower(), "reason": outcome.reason, **detail, "events": []}


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
    def __init__(self, name: str, settings: Settings, runner: asyncio.Runner) -> None:
        self._step = partial(run_step, name, settings)
        self._loop = runner
        workers = settings.workers
        self._pool = WorkerPool(lambda: self._step, 1, workers.limits, how="fork") if workers.processes else None

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
    url: str
    html: str
    query: str = ""
    max_details: int = Field(default=5, ge=1, le=10_000)

    def answer(self, settings: Settings) -> dict[str, Any]:
        rules = settings.listing, settings.page_reading
        found = follow_listing(self.html, self.url, self.query, self.max_details, *rules)
        links = [{"url": link.url, "text": link.text, "because": link.because} for link in found.links]
        return {"links": links, "next_page": found.next_page}


class SnippetInput(BaseModel):
    url: str = ""
    title: str | None = None
    html: str | None = None
    html_base64: Body | None = None
    content_type: str | None = None
    content: str | None = None

    def answer(self, settings: Settings) -> dict[str, Any]:
        html, limits = self.html, settings.relevance_gate.snippet
        if html is None and self.html_base64 is not None:
            html = page_bytes(self.html_base64, self.content_type).utf8.decode("utf-8", "replace")
        details = DetailPatterns(settings.patterns)
        reader = StatedReader(settings.page_reading, settings.page_refusals, details)
        page = SourcePage(html, self.content, self.title or "", reader, self.url)
        seen = begin(page.facts, page.title, page.text, limits)
        snippet = snippet_of(paragraphs_of(page.facts, page.text, limits), limits) or None
        return {
            "url": self.url,
            "title": seen.title,
            "summary": seen.summary,
            "snippet": snippet,
            "failure": None if snippet else str(SnippetFailure.NO_MEANINGFUL_CONTENT),
        }


STEPS: Mapping[str, type[ListingInput | SnippetInput]] = {
    "follow_listing": ListingInput,
    "extract_snippet": SnippetInput,
}
"""The inputs of the pure steps that ``assay try`` can run, by name."""


def run_step(name: str, settings: Settings, line: bytes) -> dict[str, Any] | Dead:
    try:
        asked = from_json(STEPS[name], line)
    except ValidationError as error:
        return refusal(error)
    try:
        return asked.answer(settings)
    except Exception as error:
        return Dead(DeadReason.HANDLER_BUG, f"{type(error).__name__}: {error}"[:MAX_DETAIL])


def _set_up_log(settings: Settings) -> None:
    # structlog writes to standard output by default, which is for answers only. Most trials log nothing.
    from streams.telemetry.setup import configure_logs

    configure_logs(settings.logs.level, settings.logs.format)


def run_diff(
    name: str, file: Path | None, settings: Settings, other: Settings, *, limit: int, strict: bool, as_json: bool
) -> int:
    handler = handler_named(name)
    comparison = comparison_of(handler, limit) if handler else None
    if handler is None or comparison is None:
        raise CommandError(not_comparable(name), 2)

    async def events() -> AsyncGenerator[Event | Dead]:
        for found in read_events("try", file or STANDARD_INPUT_PATH, handler.consumes):
            if not isinstance(found.event, Drop):
                yield found.event

    from streams.cli.comparison import print_comparison  # a trial has no use for rich

    asyncio.run(compare(settings, other, handler, events(), comparison))
    print_comparison(handler, comparison, settings, other, as_json=as_json)
    return 1 if strict and any(comparison.dead.values()) else 0
