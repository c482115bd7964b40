"""The places of topics and handlers in the picture of the topology, which ``templates/topology.html`` draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from streams.topology import HANDLERS, TOPICS

_TOPIC_WIDTH, _TOPIC_HEIGHT = 158, 26
_HANDLER_WIDTH, _HANDLER_HEIGHT = 172, 34
_BETWEEN = 76
"""From a node to the next column: room for the figures on an edge."""
_ROW = 52
_MARGIN = 14
_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class Node:
    """A topic or a handler; ``x`` is its left side and ``y`` its middle."""

    name: str
    is_handler: bool
    column: int
    x: int
    y: int

    @property
    def width(self) -> int:
        """In pixels."""
        return _HANDLER_WIDTH if self.is_handler else _TOPIC_WIDTH

    @property
    def height(self) -> int:
        """In pixels."""
        return _HANDLER_HEIGHT if self.is_handler else _TOPIC_HEIGHT


@cache
def topology_layout() -> tuple[dict[str, Node], int, int]:
    """The nodes by name, the width and the height.

    The distance of a node from an input gives its column, and its neighbours give its row.
    """
    columns = _columns()
    neighbours: dict[str, set[str]] = {name: set() for name in columns}
    for handler in HANDLERS:
        for other in (handler.consumes.name, *(topic.name for topic in handler.emits)):
            neighbours[handler.name].add(other)
            neighbours[other].add(handler.name)
    rows: dict[str, float] = {}
    in_column = [[name for name in columns if columns[name] == column] for column in range(max(columns.values()) + 1)]
    for names in in_column:
        rows |= {name: float(index) for index, name in enumerate(names)}
    for sweep in range(_SWEEPS):
        for names in in_column if sweep % 2 else reversed(in_column):
            _settle(names, neighbours, rows)
    least = min(rows.values())
    handlers = {handler.name for handler in HANDLERS}
    nodes, x = {}, _MARGIN
    for column, members in enumerate(in_column):
        is_handler = members[0] in handlers
        for name in members:
            y = round(_MARGIN + _ROW / 2 + (rows[name] - least) * _ROW)
            nodes[name] = Node(name, is_handler, column, x, y)
        x += (_HANDLER_WIDTH if is_handler else _TOPIC_WIDTH) + (28 if is_handler else _BETWEEN)
    width = max(node.x + node.width for node in nodes.values()) + _MARGIN
    return nodes, width, max(node.y for node in nodes.values()) + _ROW // 2 + _MARGIN


def _columns() -> dict[str, int]:
    """Topics that others write are in column 0; a handler is behind its topic, and its topics behind it."""
    columns = {topic.name: 0 for topic in TOPICS if topic.written_by and any(its.consumes is topic for its in HANDLERS)}
    waiting = [*HANDLERS]
    while waiting:
        ready = [handler for handler in waiting if handler.consumes.name in columns] or waiting[:1]
        for handler in ready:
            column = columns.setdefault(handler.consumes.name, 0) + 1
            columns[handler.name] = column
            for topic in handler.emits:
                columns.setdefault(topic.name, column + 1)
        waiting = [handler for handler in waiting if handler not in ready]
    return columns


def _settle(names: Sequence[str], neighbours: Mapping[str, set[str]], rows: dict[str, float]) -> None:
    """Moves the nodes of a column near their neighbours, a row apart."""
    wished = {name: fmean(rows[other] for other in neighbours[name]) for name in names}
    ordered = sorted(names, key=lambda name: wished[name])
    placed: list[float] = []
    for name in ordered:
        placed.append(max(wished[name], placed[-1] + 1) if placed else wished[name])
    shift = fmean(wished[name] - row for name, row in zip(ordered, placed, strict=True))
    rows |= {name: row + shift for name, row in zip(ordered, placed, strict=True)}
