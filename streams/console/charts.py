"""Pictures as SVG: drawn here from figures, coloured by classes of the style sheet, without script and inline style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from markupsafe import Markup

from streams.console.flow import HandlerFlow
from streams.console.words import figure, in_rate, in_time
from streams.topology import HANDLERS, TOPICS

_TOPIC_WIDTH, _TOPIC_HEIGHT = 158, 26
_HANDLER_WIDTH, _HANDLER_HEIGHT = 172, 34
_BETWEEN = 76
"""From a node to the next column: room for the figures on an edge."""
_ROW = 52
_MARGIN = 14
_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    is_handler: bool
    column: int
    x: float
    y: float

    @property
    def width(self) -> int:
        return _HANDLER_WIDTH if self.is_handler else _TOPIC_WIDTH

    @property
    def height(self) -> int:
        return _HANDLER_HEIGHT if self.is_handler else _TOPIC_HEIGHT


def topology_svg(flows: Mapping[str, HandlerFlow]) -> Markup:
    """The topology from left to right, with rate, lag and dead letters at the edges; a table is its text form."""
    nodes, width, height = _layout()
    parts = [
        Markup('<svg class="topology" viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">').format(
            width,
            height,
            width,
            height,
            "Topics and handlers with rate, lag and dead letters, as in the table",
        )
    ]
    for handler in HANDLERS:
        flow = flows.get(handler.name)
        busy = " busy" if flow and flow.rate else ""
        parts.append(_edge(nodes[handler.consumes.name], nodes[handler.name], f"edge{busy}"))
        parts += [_edge(nodes[handler.name], nodes[topic.name], f"edge{busy}") for topic in handler.emits]
    for node in nodes.values():
        flow = flows.get(node.name)
        parts.append(_box(node, flow))
    for handler in HANDLERS:
        if (flow := flows.get(handler.name)) is not None:
            parts.append(_figures(nodes[handler.name], flow))
    return Markup("").join([*parts, Markup("</svg>")])


_BAR_HEIGHT = 150
_BAR_LEFT = 46
_BAR_WIDTH = 700


def day_bars(days: Sequence[str], series: Mapping[str, Sequence[int]]) -> Markup:
    """A stacked bar for each day, the oldest on the left; a table is its text form. The series are CSS classes."""
    most = max((sum(counts) for counts in zip(*series.values(), strict=True)), default=0)
    top = _nice(most)
    step = (_BAR_WIDTH - _BAR_LEFT) / max(1, len(days))
    width = min(44.0, step * 0.68)
    parts = [
        Markup('<svg class="bars" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
            _BAR_WIDTH, _BAR_HEIGHT + 34, "Calls by day, as in the table"
        )
    ]
    for part in (0, 1, 2):
        y, amount = 8 + _BAR_HEIGHT * part / 2, top * (2 - part) // 2
        parts.append(
            Markup('<path class="grid" d="M{} {:g}H{}"/><text class="tick" x="{}" y="{:g}">{}</text>').format(
                _BAR_LEFT, y, _BAR_WIDTH, _BAR_LEFT - 8, y + 4, figure(amount)
            )
        )
    every = -(-len(days) // 10)
    for number, day in enumerate(days):
        x, y = _BAR_LEFT + step * (number + 0.5) - width / 2, 8.0 + _BAR_HEIGHT
        for name, counts in series.items():
            height = _BAR_HEIGHT * counts[number] / top
            y -= height
            if height:
                told = f"{day}: {figure(counts[number])} {name}"
                bar = Markup('<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">')
                parts.append(bar.format(name, x, y, width, height) + Markup("<title>{}</title></rect>").format(told))
        if number % every == 0:
            text = Markup('<text class="day" x="{:.1f}" y="{}">{}</text>')
            parts.append(text.format(x + width / 2, _BAR_HEIGHT + 26, day[5:]))
    return Markup("").join([*parts, Markup("</svg>")])


def _nice(most: int) -> int:
    """The end of an axis: an even number of one or two digits and zeros, at least ``most``.

    >>> _nice(0), _nice(7), _nice(31), _nice(1234)
    (2, 8, 32, 1400)
    """
    unit: int = 10 ** max(0, len(str(most)) - 2)
    return max(2, 2 * unit * -(-most // (2 * unit)))


def _box(node: _Node, flow: HandlerFlow | None) -> Markup:
    kind = "handler" if node.is_handler else "topic"
    state = " idle" if flow is not None and not flow.members else ""
    name = node.name.removesuffix(".v1")
    return Markup(
        '<g class="node {}{}"><rect x="{:g}" y="{:g}" width="{}" height="{}" rx="{:g}"/>'
        '<text x="{:g}" y="{:g}">{}</text></g>'
    ).format(
        kind,
        state,
        node.x,
        node.y - node.height / 2,
        node.width,
        node.height,
        7 if node.is_handler else node.height / 2,
        node.x + node.width / 2,
        node.y + 4,
        name,
    )


def _figures(target: _Node, flow: HandlerFlow) -> Markup:
    """Rate and lag before a handler, its dead letters below it."""
    x, y = target.x - 8, target.y
    rate = Markup('<text class="rate" x="{:g}" y="{:g}">{}</text>').format(
        x, y - 6, "" if flow.rate is None else f"{in_rate(flow.rate)}/s"
    )
    behind = flow.lag > 0
    lag = Markup('<text class="{}" x="{:g}" y="{:g}">{}</text>').format(
        "lag behind" if behind else "lag", x, y + 14, in_time(flow.lag_seconds) if behind else "0 s"
    )
    if not flow.dead:
        return rate + lag
    return (
        rate
        + lag
        + Markup('<text class="dead" x="{:g}" y="{:g}">{} dead</text>').format(
            target.x + target.width / 2, target.y + target.height / 2 + 13, figure(flow.dead)
        )
    )


def _edge(source: _Node, target: _Node, css: str) -> Markup:
    back = target.column <= source.column
    x1, y1 = source.x + (0 if back else source.width), source.y
    x2, y2 = target.x + (target.width if back else 0), target.y
    bend = (x2 - x1) / 2
    return Markup('<path class="{}" d="M{:g} {:g}C{:g} {:g} {:g} {:g} {:g} {:g}"/>').format(
        css + (" back" if back else ""), x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2
    )


@cache
def _layout() -> tuple[dict[str, _Node], int, int]:
    """The place of each node: its column by its distance from an input, its row near its neighbours."""
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
    nodes, x = {}, float(_MARGIN)
    for column, members in enumerate(in_column):
        is_handler = members[0] in handlers
        for name in members:
            y = _MARGIN + _ROW / 2 + (rows[name] - least) * _ROW
            nodes[name] = _Node(name, is_handler, column, x, y)
        x += (_HANDLER_WIDTH if is_handler else _TOPIC_WIDTH) + (28 if is_handler else _BETWEEN)
    height = max(node.y for node in nodes.values()) + _ROW / 2 + _MARGIN
    return nodes, round(max(node.x + node.width for node in nodes.values()) + _MARGIN), round(height)


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
