"""``assay try HANDLER --config OTHER.yaml --diff``: compares the decisions under two configurations.

Each event is decided under the configuration in force and under the same with OTHER.yaml laid over it. The command
counts the differences and shows the first ones in full; it holds one line and a bounded number of differences.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from schemas.outcome import Dead, Drop
from streams.cli.file_events import read_events
from streams.cli.output import tell
from streams.cli.try_ import STEPS, HandlerTrial, dumped, unknown_handler
from streams.publish.event_lines import LineEvent
from streams.publish.sources import STANDARD_INPUT_PATH
from streams.replay.comparisons import comparable, comparison_of
from streams.replay.diff import Comparison
from streams.settings.model import Settings
from streams.topology import handler_named


def run_diff(
    name: str, file: Path | None, settings: Settings, other: Settings, *, limit: int, strict: bool, as_json: bool
) -> int:
    """Compares the decisions on every line of a file or of standard input.

    Raises:
        OSError: The file cannot be read.
        SettingsError: Sections of a configuration that are valid by themselves contradict each other.
    """
    handler = handler_named(name)
    if handler is None and name not in STEPS:
        return unknown_handler(name)
    comparison = comparison_of(handler, limit) if handler else None
    if handler is None or comparison is None:
        return tell("try", not_comparable(name), 2)
    with asyncio.Runner() as runner:
        trials = HandlerTrial(handler, settings, runner), HandlerTrial(handler, other, runner)
        with closing(trials[0]), closing(trials[1]):
            found = read_events("try", file or STANDARD_INPUT_PATH, handler.consumes, blank=True)
            dead = _compare_all(found, *trials, comparison)
    print_comparison(handler.name, comparison, *(trial.rules.config_version for trial in trials), as_json=as_json)
    return 1 if dead and strict else 0


def not_comparable(name: str) -> str:
    """The error for a handler whose decisions cannot be compared."""
    able = " and ".join(handler.name for handler in comparable())
    return f"--diff compares decisions of {able}, not of {name}; leave --diff out"


def _compare_all(events: Iterator[LineEvent], now: HandlerTrial, then: HandlerTrial, comparison: Comparison) -> int:
    """Feeds the comparison; returns how many events were dead under either configuration."""
    dead = 0
    for found in events:
        event = found.event
        if isinstance(event, Drop):
            continue
        outcomes = (event, event) if isinstance(event, Dead) else (now.decide(event), then.decide(event))
        comparison.add(*outcomes)
        dead += any(isinstance(outcome, Dead) for outcome in outcomes)
    return dead


def print_comparison(name: str, comparison: Comparison, version_now: str, version_then: str, *, as_json: bool) -> None:
    """Prints what differs between two versions of a handler's rules; the same version decides alike."""
    if as_json:
        head = {"handler": name, "config_version_now": version_now, "config_version_then": version_then}
        sys.stdout.buffer.write(dumped({**head, **comparison.to_wire()}).encode() + b"\n")
        sys.stdout.buffer.flush()
        return
    from streams.cli.diff_tables import show_differences  # --json has no use for rich

    show_differences(comparison, same_rules=version_now == version_then)
