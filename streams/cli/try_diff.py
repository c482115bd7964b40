"""``assay try HANDLER --config OTHER.yaml --diff``: compares the decisions under two configurations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from schemas.event import Event
from schemas.outcome import Dead, Drop
from streams.cli.output import say_json, tell
from streams.cli.progress import read_events
from streams.publish.lines import STANDARD_INPUT_PATH
from streams.replay.comparisons import Comparison, comparable, compare, comparison_of
from streams.settings.model import Settings
from streams.topology import Handler, handler_named


def run_diff(
    name: str, file: Path | None, settings: Settings, other: Settings, *, limit: int, strict: bool, as_json: bool
) -> int:
    """Compares the decisions on every line of a file or of standard input."""
    handler = handler_named(name)
    comparison = comparison_of(handler, limit) if handler else None
    if handler is None or comparison is None:
        return tell("try", not_comparable(name), 2)

    async def events() -> AsyncGenerator[Event | Dead]:
        for found in read_events("try", file or STANDARD_INPUT_PATH, handler.consumes):
            if not isinstance(found.event, Drop):
                yield found.event

    asyncio.run(compare(settings, other, handler, events(), comparison))
    print_comparison(handler, comparison, settings, other, as_json=as_json)
    return 1 if strict and any(comparison.dead.values()) else 0


def not_comparable(name: str) -> str:
    """The error for a handler whose decisions cannot be compared."""
    able = " and ".join(handler.name for handler in comparable())
    return f"--diff compares decisions of {able}, not of {name}; leave --diff out"


def print_comparison(
    handler: Handler, comparison: Comparison[Any], settings: Settings, other: Settings, *, as_json: bool
) -> None:
    """Prints what differs between two configurations; rules of the same version decide alike."""
    now, then = (configuration.rules(handler.rules).config_version for configuration in (settings, other))
    if as_json:
        head = {"handler": handler.name, "config_version_now": now, "config_version_then": then}
        say_json({**head, **comparison.to_wire()})
        return
    from streams.cli.diff_tables import show_differences  # --json has no use for rich

    show_differences(comparison, same_rules=now == then)
