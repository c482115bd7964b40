"""``assay try``: runs a handler or a pure step on one event a line, without a broker.

Each input line is an event of the handler's topic, a line of ``assay tail --json``, or an answer of another trial that
contains such events. Each output line is ``{"outcome", "reason", "events": [{"topic", "key", "value"}]}``, in the order
of the input. A bad line gives ``dead`` with a reason. The command holds one line at a time and imports neither Kafka
nor a model's client.

The pure steps are parts of a handler: the links of a listing that are its items, and a source's snippet. Their input
may omit fields and may have unknown ones.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from schemas.outcome import Dead, DeadReason, Drop, DropReason, Emit, Outcome, Retry
from streams.cli.event_lines import open_lines, values_in
from streams.cli.handler_trial import STEPS, HandlerTrial, StepTrial, dumped, unknown_handler
from streams.cli.options import AsJson, Config, load_settings
from streams.settings import Settings
from streams.topology import Topic, handler_named, topic_of


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

        settings, other = load_settings(), load_settings(config)
        return run_diff(handler, file, settings, other, limit=limit, strict=strict, as_json=as_json)
    return run_try(handler, file, load_settings(config), strict=strict)


def run_try(name: str, file: Path | None, settings: Settings, *, strict: bool) -> int:
    """Writes the answer for every line of a file or of standard input.

    Raises:
        OSError: The file cannot be read.
    """
    handler = handler_named(name)
    if handler is None and name not in STEPS:
        return unknown_handler(name)
    with asyncio.Runner() as runner, open_lines("try", file, quiet=True) as lines:
        if handler is None:
            with closing(StepTrial(name, settings, runner)) as step:
                dead = _write_all(_answer_step(step, line) for line in lines)
        else:
            with closing(HandlerTrial(handler, settings, runner)) as trial:
                dead = _write_all(answer for line in lines for answer in _answers(trial, handler.consumes, line))
    return 1 if dead and strict else 0


def _write_all(answers: Iterable[tuple[str, bool]]) -> int:
    """Writes each answer on a line; returns how many are dead."""
    dead = 0
    for text, died in answers:
        dead += died
        # Bytes, for the terminal's encoding is not the data's.
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
    return dead


def _answers(trial: HandlerTrial, topic: Topic, line: bytes | Dead) -> Iterator[tuple[str, bool]]:
    """An answer for each event of a line, and whether it is dead."""
    if isinstance(line, Dead):
        yield _without_events(line)
        return
    values = values_in(line, topic)
    for value, _ in values:
        yield _answer(trial, value)
    if not values:
        yield _without_events(Drop(DropReason.NOTHING_TO_DO))


def _answer(trial: HandlerTrial, value: bytes) -> tuple[str, bool]:
    event = trial.decode(value)
    outcome: Outcome = event if isinstance(event, Dead) else trial.decide(event)
    return _emit_line(outcome.events) if isinstance(outcome, Emit) else _without_events(outcome)


def _without_events(outcome: Drop | Retry | Dead) -> tuple[str, bool]:
    if isinstance(outcome, Dead):
        return _dead_line(outcome), True
    if isinstance(outcome, Drop):
        return json.dumps({"outcome": "drop", "reason": outcome.reason, "events": []}), False
    return dumped({"outcome": "retry", "reason": outcome.reason, "detail": outcome.detail, "events": []}), False


def _answer_step(step: StepTrial, line: bytes | Dead) -> tuple[str, bool]:
    answer = line if isinstance(line, Dead) else step.answer(line)
    return (_dead_line(answer), True) if isinstance(answer, Dead) else (dumped(answer), False)


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
