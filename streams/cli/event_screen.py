"""Prints an event for people: a scored page with its points, a batch with its results, other events field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from schemas.event import Event
from schemas.pages import ScoredPage
from streams.cli.output import printable
from streams.demo.report import tell_page
from streams.topology import topic_of

_LONGEST = 160
_BODIES = frozenset({"html", "html_base64", "content", "markdown", "text", "context"})


def print_event(console: Console, event: Event) -> None:
    """Prints an event below the name of its topic and its key."""
    topic = topic_of(event)
    console.print(Text(f"{topic.name}  {_cut(str(topic.key(event)))}", style="dim"))
    if isinstance(event, ScoredPage):
        tell_page(console, event)
    else:
        _print_fields(console, event.to_wire(), 2)
    console.print()


def _print_fields(console: Console, value: Mapping[str, Any], indent: int) -> None:
    """A line for each field that has a value; nested objects are indented by two."""
    for name, its in value.items():
        if its is None or its in ("", [], {}) or name in _BODIES:
            continue
        if isinstance(its, Mapping):
            console.print(" " * indent + name, style="dim", markup=False)
            _print_fields(console, its, indent + 2)
        elif isinstance(its, list) and isinstance(its[0], Mapping):
            for number, one in enumerate(its, 1):
                console.print(f"{' ' * indent}{name} {number}", style="dim", markup=False)
                _print_fields(console, one, indent + 2)
        else:
            shown = "; ".join(map(str, its)) if isinstance(its, list) else str(its)
            console.print(Text.assemble(" " * indent, (f"{name}  ", "dim"), _cut(shown)))


def _cut(text: str) -> str:
    return printable(" ".join(text.split()), _LONGEST)
