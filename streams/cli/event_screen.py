"""Prints an event for people: a scored page with its points, a batch with its results, other events field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from schemas.event import Event
from schemas.pages import ScoredPage
from streams.demo.report import tell_page
from streams.runtime.terminal import printable
from streams.topology import topic_of
from streams.views.screen import Screen

_LONGEST = 160
_BODIES = frozenset({"html", "html_base64", "content", "markdown", "text", "context"})


def print_event(console: Screen, event: Event) -> None:
    """Prints an event below the name of its topic and its key."""
    topic = topic_of(event)
    console.print(Text(f"{topic.name}  {_cut(str(topic.key(event)))}", style="dim"))
    if isinstance(event, ScoredPage):
        tell_page(console, event)
    else:
        _print_fields(console, event.to_wire(), 2)
    console.print()


def _print_fields(console: Screen, value: Mapping[str, Any], indent: int) -> None:
    """A line for each field that has a value; nested objects are indented by two."""
    for name, field in value.items():
        if field in (None, "", [], {}) or name in _BODIES:
            continue
        groups = field if isinstance(field, list) else [field]
        if not isinstance(groups[0], Mapping):
            console.print(Text.assemble(" " * indent, (f"{name}  ", "dim"), _cut("; ".join(map(str, groups)))))
            continue
        for number, group in enumerate(groups, 1):
            title = f"{name} {number}" if isinstance(field, list) else name
            console.print(" " * indent + title, style="dim")
            _print_fields(console, group, indent + 2)


def _cut(text: str) -> str:
    return printable(" ".join(text.split()), _LONGEST)
