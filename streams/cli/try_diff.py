"""``assay try HANDLER --config OTHER.yaml --diff``: what another configuration would change.

In: lines of JSON as ``assay try`` reads them. Each is decided under the configuration in force and under the same with
OTHER.yaml laid over it. Out: what differs, counted, with the first differences in full. It streams: one line and a
bounded number of differences are held.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.event import Event
from schemas.outcome import Dead
from schemas.pages import ScoredPage
from schemas.retrieval import ResultsClassified
from streams.cli.handler_trial import STEPS, HandlerTrial, dumped, read_lines, unknown_handler
from streams.cli.progress import with_progress
from streams.replay.diff import Comparison
from streams.replay.diff_pages import PageDifferences
from streams.replay.diff_results import ResultsDifferences
from streams.settings import Settings
from streams.topology import HANDLERS, Handler, handler_named

_COMPARISONS: Mapping[type[Event], Callable[[int], Comparison]] = {
    ScoredPage: PageDifferences,
    ResultsClassified: ResultsDifferences,
}
"""By the event of the decision; each takes the number of differences to keep."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the handler's rules under both configurations; equal ones decide alike."""

    now: str
    then: str


def run_diff(
    name: str, file: Path | None, settings: Settings, other: Settings, limit: int, strict: bool, as_json: bool
) -> int:
    """Compares the decisions on every line of a file or of standard input.

    Args:
        name: A handler whose decisions can be compared.
        file: Where the lines are; standard input where None.
        settings: The configuration in force.
        other: The other one.
        limit: How many differences to show.
        strict: Whether a line that is dead under either makes the exit status 1.
        as_json: One object instead of tables.

    Returns:
        0; 1 for a dead line under ``strict`` or a file that can't be read; 2 for a name that can't be compared.

    Raises:
        SettingsError: Sections of a configuration that are right by themselves don't go together.
    """
    handler = handler_named(name)
    if handler is None and name not in STEPS:
        return unknown_handler(name)
    comparison = comparison_of(handler, limit) if handler else None
    if handler is None or comparison is None:
        able = " and ".join(known.name for known in HANDLERS if comparison_of(known, 0))
        print(f"assay try: --diff compares decisions of {able}, not of {name}; leave --diff out", file=sys.stderr)
        return 2
    try:
        source = sys.stdin.buffer if file is None else file.open("rb")
    except OSError as error:
        print(f"assay try: {file}: {error.strerror}", file=sys.stderr)
        return 1
    with source, asyncio.Runner() as runner:
        trials = HandlerTrial(handler, settings, runner), HandlerTrial(handler, other, runner)
        with closing(trials[0]), closing(trials[1]), with_progress(source, file) as watched:
            dead = _compare_all(read_lines(watched), *trials, comparison)
    versions = Versions(trials[0].rules.config_version, trials[1].rules.config_version)
    _tell(handler.name, comparison, versions, as_json)
    return 1 if dead and strict else 0


def comparison_of(handler: Handler, limit: int) -> Comparison | None:
    """An empty comparison of a handler's decisions, or None where there is none for them.

    Args:
        handler: What it emits decides.
        limit: How many differences the comparison keeps.
    """
    return next((_COMPARISONS[topic.event](limit) for topic in handler.emits if topic.event in _COMPARISONS), None)


def _compare_all(lines: Iterator[bytes | Dead], now: HandlerTrial, then: HandlerTrial, comparison: Comparison) -> int:
    """Feeds the comparison; returns how many lines were dead under either configuration."""
    dead = 0
    for line in lines:
        event = line if isinstance(line, Dead) else now.decode(line)
        outcomes = (event, event) if isinstance(event, Dead) else (now.decide(event), then.decide(event))
        comparison.add(*outcomes)
        dead += any(isinstance(outcome, Dead) for outcome in outcomes)
    return dead


def _tell(name: str, comparison: Comparison, versions: Versions, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {
            "handler": name,
            "config_version_now": versions.now,
            "config_version_then": versions.then,
            **comparison.to_wire(),
        }
        sys.stdout.buffer.write(dumped(document).encode() + b"\n")
        sys.stdout.buffer.flush()
        return
    from streams.cli.diff_tables import show_differences  # --json has no use for rich

    show_differences(comparison, same_rules=versions.now == versions.then)
