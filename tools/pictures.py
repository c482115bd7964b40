"""Draws the pictures of the documentation into ``docs/pictures``, or into another folder.

    python -m tools.pictures [FOLDER]          # <dashboard>.png: the panels' expressions on a real Prometheus
    python -m tools.pictures --demo [FOLDER]   # demo.svg: a part of what `assay demo --once` prints

The dashboards need Prometheus and the extra ``bench``.
"""

from __future__ import annotations

import asyncio
import io
import logging
import math
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from streams.cli.commands import run_command_line
from streams.generate.grafana import Dashboard, Panel, Query, dashboards
from streams.telemetry.setup import configure_logs
from streams.views.screen import Screen
from tests.kafka_server import kafka_server
from tests.prometheus.scene import Scene, places, play
from tests.prometheus.server import Prometheus

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
STEP_SECONDS, WINDOW = 1.0, "10s"
COLUMNS, WIDTH, HEIGHT, FIGURE_HEIGHT, TITLE_HEIGHT = 3, 4.2, 2.3, 0.9, 0.4
"""Panels abreast, and inches."""
MOST_LABELS, MOST_PANELS = 6, 24
"""Of the handlers the first four: the others have the same panels."""
COLOURS = ("#3b6fb6", "#d1773a", "#4a9a6a", "#a2528f", "#8a8a3c", "#5aa9b5", "#b5484f", "#6d6d74")

SHOWN = ("How far can", "tier A", "tier C", "Does what came back", "“events in Aarhus today”")
"""The paragraphs of the demonstration that its picture has, by how they begin."""
DEMO_COLUMNS = 110

Series = list[tuple[str, dict[int, float]]]


def demonstration(folder: Path = PICTURES) -> None:
    """Runs the demonstration and draws a part of what it prints."""
    run = Screen(record=True, file=io.StringIO(), width=DEMO_COLUMNS, color_system="truecolor")
    with patch("streams.cli.demo.Screen", return_value=run):
        status = run_command_line(["demo", "--once"])
    if status != 0:
        raise SystemExit(status)
    shown = run.export_text(styles=True).rstrip()
    drawn = Screen(record=True, file=io.StringIO(), width=DEMO_COLUMNS, color_system="truecolor")
    for paragraph in [*re.split(r"\n\s*\n", shown), shown.rpartition("\n")[2]]:
        text = Text.from_ansi(paragraph)
        if text.plain.startswith(SHOWN) or paragraph == shown.rpartition("\n")[2]:
            drawn.print(text, end="\n\n")
    folder.mkdir(parents=True, exist_ok=True)
    picture = drawn.export_svg(title="make demo", theme=SVG_EXPORT_THEME)
    # A picture loads no font from another host.
    (folder / "demo.svg").write_text(re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL), "utf-8")


def main(folder: Path = PICTURES) -> None:
    """Plays the scene and draws every dashboard."""
    configure_logs("error", "console")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    here = places()
    with (
        tempfile.TemporaryDirectory() as place,
        kafka_server() as kafka,
        Prometheus(Path(place) / "prometheus", here.targets()) as server,
    ):
        scene = asyncio.run(play(kafka, "pictures.", Path(place), here, server))
        folder.mkdir(parents=True, exist_ok=True)
        for shown in dashboards():
            path = folder / f"{shown.name}.png"
            _draw(shown, server, scene, path)
            print(f"{path}: {path.stat().st_size / 1024:.0f} KiB")


def _draw(shown: Dashboard, server: Prometheus, scene: Scene, path: Path) -> None:
    from matplotlib.figure import Figure

    panels = [("" if number else row.title, its) for row in shown.rows for number, its in enumerate(row.panels)]
    panels = panels[:MOST_PANELS]
    lines = [panels[first : first + COLUMNS] for first in range(0, len(panels), COLUMNS)]
    heights = [FIGURE_HEIGHT if all(panel.form == "figure" for _, panel in line) else HEIGHT for line in lines]
    figure = Figure(figsize=(COLUMNS * WIDTH, sum(heights) + TITLE_HEIGHT))
    grid = figure.subplots(len(lines), COLUMNS, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (heading, panel) in zip(grid.flat, panels, strict=False):
        title = f"{heading.split(' ·')[0]}: {panel.title}" if heading else panel.title
        axes.set_title(title, loc="left", weight="bold", size=8)
        axes.set_prop_cycle(color=COLOURS)
        axes.tick_params(labelsize=7)
        _panel(axes, panel, server, scene)
    top = 1 - TITLE_HEIGHT / (sum(heights) + TITLE_HEIGHT)
    figure.text(0.01, (1 + top) / 2, shown.title, va="center", weight="bold", size=12)
    figure.tight_layout(rect=(0, 0, 1, top))
    figure.savefig(path, dpi=80)
    _shrink(path)


def _panel(axes: Axes, panel: Panel, server: Prometheus, scene: Scene) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if panel.form == "figure":
        _figure(axes, panel, server, scene)
        return
    if panel.form == "bars":
        _bars(axes, panel, server, scene)
        return
    found = [series for query in panel.queries for series in _series(query, server, scene)]
    times = range(int(scene.ended - scene.began) + 1)
    if panel.form == "stack" and found:
        heights = [[values.get(at, 0.0) for at in times] for _, values in found]
        axes.stackplot(times, heights, labels=[label for label, _ in found], alpha=0.75)
    else:
        for label, values in found:
            axes.plot(times, [values.get(at, math.nan) for at in times], label=label, linewidth=1.2)
    if panel.objective is not None:
        axes.axhline(panel.objective, color="#b5484f", linestyle="--", linewidth=0.8, label="objective")
    axes.grid(axis="y", alpha=0.25)
    axes.set_xlim(0, scene.ended - scene.began)
    axes.xaxis.set_major_formatter("{x:.0f} s")
    _scale(axes.yaxis, panel)
    if panel.signed:
        axes.set_ylim(-1, 1)
    else:
        # Above the data is room for the legend.
        axes.set_ylim(0, max(axes.get_ylim()[1], 1e-9) * 1.4)
    if found:
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[:MOST_LABELS], labels[:MOST_LABELS], fontsize=5.5, frameon=False, loc="upper left")


def _series(query: Query, server: Prometheus, scene: Scene) -> Series:
    """Legend and values by second of the scene, without values that are not numbers."""
    found = server.query_range(query.expression, scene.began, scene.ended, STEP_SECONDS, WINDOW)
    return [
        (
            _legend(query.legend, labels),
            {round(at - scene.began): value for at, value in values if not math.isnan(value)},
        )
        for labels, values in found
    ]


def _figure(axes: Axes, panel: Panel, server: Prometheus, scene: Scene) -> None:
    axes.set_axis_off()
    [query] = panel.queries
    values = []
    for sample in server.query(query.expression, scene.ended):
        name = _legend(query.legend, sample.labels) if "{{" in query.legend else ""
        values.append(f"{name} {_number(sample.value, panel.unit)}".strip())
    axes.text(0.02, 0.4, ", ".join(values), size=18, color=COLOURS[0], transform=axes.transAxes)


def _bars(axes: Axes, panel: Panel, server: Prometheus, scene: Scene) -> None:
    [query] = panel.queries
    samples = server.query(query.expression, scene.ended)
    named = [(_legend(query.legend, sample.labels), sample.value) for sample in samples]
    if query.legend == "{{le}}":
        # Buckets are cumulative; Grafana shows the difference of two bounds.
        named.sort(key=lambda bar: float(bar[0]))
        below = [0.0, *(value for _, value in named)]
        named = [(label, value - less) for (label, value), less in zip(named, below, strict=False)]
    axes.barh([label for label, _ in named], [value for _, value in named], color=COLOURS[0])
    axes.tick_params(axis="y", labelsize=6)
    axes.locator_params(axis="x", nbins=4)
    _scale(axes.xaxis, panel)


def _scale(axis: Any, panel: Panel) -> None:
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    if panel.unit == "percentunit":
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    else:
        axis.set_major_formatter(FuncFormatter(lambda value, _: _number(value, panel.unit)))


def _number(value: float, unit: str) -> str:
    """A value as Grafana would write it, roughly."""
    if unit == "s" and value >= 3600:
        return f"{value / 86400:.3g} d" if value >= 86400 else f"{value / 3600:.3g} h"
    suffix = {"s": " s", "cps": "/s", "Bps": " B/s", "bytes": " B", "currencyUSD": " $"}.get(unit, "")
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}{suffix.strip()}"
    return f"{value:.3g}{suffix}"


def _legend(legend: str, labels: Mapping[str, str]) -> str:
    for label, value in labels.items():
        legend = legend.replace(f"{{{{{label}}}}}", value)
    return legend.replace("{{reason}}", "").strip()


def _shrink(path: Path) -> None:
    """Few colours are enough, and the file stays small."""
    from PIL import Image

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--demo"]
    (main if arguments == sys.argv[1:] else demonstration)(*map(Path, arguments[:1]))
