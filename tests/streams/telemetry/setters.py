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
        text = path.read_text(encoding="utf-8")
        # A collector makes families of the definitions, which are attributes of the class.
        names = {"metrics", "Metrics"} if "(Collector):" in text else {"metrics"}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and f"assay_{node.attr}" in found and _name_of(node.value) in names:
                found[f"assay_{node.attr}"].add(str(path.relative_to(_STREAMS)))
    return found


def _name_of(node: ast.expr) -> str:
    """The last name of an expression: a process's metrics go by one name everywhere."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_")
