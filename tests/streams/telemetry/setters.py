"""The code that counts or sets each metric, read from the source."""

import ast
from pathlib import Path

from streams.telemetry.metrics import METRICS
from tests.tables import tables

TABLES = tables(__file__)

_STREAMS = Path(__file__).parents[3] / "streams"
ELSEWHERE = TABLES["elsewhere"]
"""What no worker shows in a demonstration, and the code that sets it: where a model judges searches, where trees
re-rank in shadow, in replays, and in `assay lag --serve`."""


def setters() -> dict[str, set[str]]:
    """For each metric the files of the source that count or set it."""
    found: dict[str, set[str]] = {metric.name: set() for metric in METRICS}
    for path in sorted(_STREAMS.rglob("*.py")):
        if path == _STREAMS / "telemetry" / "metrics.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and f"assay_{node.attr}" in found and _are_metrics(node.value):
                found[f"assay_{node.attr}"].add(str(path.relative_to(_STREAMS)))
    return found


def _are_metrics(node: ast.expr) -> bool:
    """Whether an expression is a process's metrics, which go by one name everywhere."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_") == "metrics"
