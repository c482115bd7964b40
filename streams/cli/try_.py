"""``assay try``: runs a handler or a pure step on one event a line, without a broker.

Each input line is an event of the handler's topic, or an answer of another trial that contains such events. Each output
line is ``{"outcome", "reason", "events": [{"topic", "key", "value"}]}``, in the order of the input. A bad line gives
``dead`` with a reason. The command holds one line at a time and imports neither Kafka nor a model's client.

The pure steps are parts of a handler: the links of a listing that are its items, and a source's snippet. Their input
may omit fields and may have unknown ones.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handlers.html.encoding import page_bytes
from handlers.html.snippet import SourcePage, begin, extract_snippet
from handlers.listings.listing import follow_listing
from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry
from schemas.pages import Body
from schemas.relevance import SnippetFailure
from streams.cli.handler_trial import HandlerTrial, read_events, read_lines
from streams.cli.options import AsJson, Config, load_settings
from streams.codec import MAX_DETAIL, refusal
from streams.settings import Settings
from streams.topology import HANDLERS, handler_named, no_such, topic_of

Step = Callable[[bytes], dict[str, Any] | Dead]
"""A line to its answer."""


def try_(
    handler: Annotated[str, typer.Argument(help="A handler, or a step: follow_listing, extract_snippet.")],
    file: Annotated[Path | None, typer.Argument(help="One event a line; standard input by default.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if any line was dead.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Report what --config changes.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Differences that --diff shows in full.")] = 50,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Run a handler on events from a file, without a broker."""
    if diff and config is None:
        raise typer.BadParameter("it compares with another configuration: --config OTHER.yaml", param_hint="'--diff'")
    if diff:
        from streams.cli.try_diff import run_diff

        return run_diff(handler, file, load_settings(), load_settings(config), limit, strict, as_json)
    return run_try(handler, file, load_settings(config), strict)


class ListingInput(BaseModel):
    """What the step ``follow_listing`` reads."""

    model_config = ConfigDict(extra="ignore")

    url: str
    html: str
    query: str = ""
    max_details: int = Field(default=5, ge=1, le=10_000)


class SnippetInput(BaseModel):
    """What the step ``extract_snippet`` reads: a source to be judged, or a crawled page."""

    model_config = ConfigDict(extra="ignore")

    url: str = ""
    title: str | None = None
    html: str | None = None
    html_base64: Body | None = None
    content_type: str | None = None
    content: str | None = None

    def page(self) -> str | None:
        """The HTML, where there is some."""
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
"""Pure steps that can be tried by themselves, each made under a configuration."""


Answer = Callable[[bytes], tuple[str, bool]]
"""A line's answer, and whether the line was dead."""


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
        return unknown_handler(name)
    try:
        source = sys.stdin.buffer if file is None else file.open("rb")
    except OSError as error:
        print(f"assay try: {file}: {error.strerror}", file=sys.stderr)
        return 1
    with source, asyncio.Runner() as runner:
        if handler is None:
            step = STEPS[name](settings)
            dead = _answer_all(read_lines(source), lambda line: _answer_step(step, line))
        else:
            trial = HandlerTrial(handler, settings, runner)
            try:
                dead = _answer_all(read_events(source, handler.consumes), lambda line: _answer(trial, line))
            finally:
                trial.close()
    return 1 if dead and strict else 0


def unknown_handler(name: str) -> int:
    """Says which names there are, and is the exit status of that."""
    known = [*(handler.name for handler in HANDLERS), *STEPS]
    print(f"assay try: {no_such('handler', name, known)}", file=sys.stderr)
    return 2


def _answer_all(lines: Iterable[bytes | Dead | Drop], answer: Answer) -> int:
    """Writes one line for each line read; returns how many were dead."""
    dead = 0
    for line in lines:
        text, died = answer(line) if isinstance(line, bytes) else _refused(line)
        dead += died
        # Bytes, for the terminal's encoding is not the data's.
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
    return dead


def _answer(trial: HandlerTrial, line: bytes) -> tuple[str, bool]:
    """The line for one line."""
    event = trial.decode(line)
    outcome: Outcome = event if isinstance(event, Dead) else trial.decide(event)
    return _emit_line(outcome.events) if isinstance(outcome, Emit) else _refused(outcome)


def _refused(outcome: Drop | Retry | Dead) -> tuple[str, bool]:
    """The line of an outcome without events."""
    if isinstance(outcome, Dead):
        return _dead_line(outcome), True
    if isinstance(outcome, Drop):
        return json.dumps({"outcome": "drop", "reason": outcome.reason, "events": []}), False
    return dumped({"outcome": "retry", "reason": outcome.reason, "detail": outcome.detail, "events": []}), False


def _answer_step(step: Step, line: bytes) -> tuple[str, bool]:
    """The bare line for one line."""
    answered = step(line)
    return (_dead_line(answered), True) if isinstance(answered, Dead) else (dumped(answered), False)


def _emit_line(events: tuple[Any, ...]) -> tuple[str, bool]:
    try:
        parts = [
            f'{{"topic":{json.dumps(topic.name)},"key":{dumped(topic.key(event))},"value":{event.to_json().decode()}}}'
            for event in events
            for topic in (topic_of(event),)
        ]
    except (ValueError, RecursionError) as error:
        return _dead_line(Dead(DeadReason.OUTPUT_INVALID, str(error))), True
    return f'{{"outcome":"emit","reason":null,"events":[{",".join(parts)}]}}', False


def _dead_line(refused: Dead) -> str:
    return dumped({"outcome": "dead", "reason": refused.reason, "detail": refused.detail, "events": []})


def dumped(value: Any) -> str:
    """JSON that any output takes: characters that no encoding has are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
