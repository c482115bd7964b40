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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from schemas.outcome import Dead, DeadReason, Drop, Emit, Outcome, Retry
from streams.cli.handler_trial import STEPS, HandlerTrial, Step, dumped, read_events, read_lines, unknown_handler
from streams.cli.options import AsJson, Config, load_settings
from streams.settings import Settings
from streams.topology import handler_named, topic_of


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
