"""``assay graph``: the topology on the terminal, as Mermaid, or as JSON."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from streams.cli.options import AsJson
from streams.generate import graph as picture
from streams.topology import HANDLERS, TOPICS


def graph(
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid diagram.")] = False, as_json: AsJson = False
) -> int:
    """Draw the topology."""
    if as_json:
        print(json.dumps(_tables(), ensure_ascii=False))
    else:
        print(picture.mermaid() if mermaid else picture.plain_text())
    return 0


def _tables() -> dict[str, list[dict[str, object]]]:
    topics: list[dict[str, object]] = [
        {
            "name": topic.name,
            "event": topic.event.__name__,
            "key": topic.key_means,
            "partitions": topic.partitions,
            "written_by": list(picture.writers(topic)),
            "read_by": list(picture.readers(topic)),
        }
        for topic in TOPICS
    ]
    handlers: list[dict[str, object]] = [
        {
            "name": handler.name,
            "consumes": handler.consumes.name,
            "emits": [topic.name for topic in handler.emits],
            "group": handler.group,
            "lane": handler.lane,
            "concurrency": handler.concurrency,
            "replay": handler.replay,
            "slo_seconds": handler.slo_seconds,
        }
        for handler in HANDLERS
    ]
    return {"topics": topics, "handlers": handlers}
