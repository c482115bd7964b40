"""``assay graph``: the topology on the terminal, as Mermaid, or as JSON."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from streams.cli.options import AsJson
from streams.cli.output import say, say_json
from streams.generate import graph as picture
from streams.topology import HANDLERS, TOPICS


def graph(
    mermaid: Annotated[bool, Option("--mermaid", help="As a Mermaid diagram.")] = False, as_json: AsJson = False
) -> int:
    """Draw the topology."""
    if not as_json:
        say(*(picture.mermaid() if mermaid else picture.plain_text()).split("\n"))
        return 0
    topics = [
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
    handlers = [
        {"name": handler.name, "consumes": handler.consumes.name, "emits": [topic.name for topic in handler.emits]}
        | {name: getattr(handler, name) for name in ("group", "lane", "concurrency", "replay", "slo_seconds")}
        for handler in HANDLERS
    ]
    say_json({"topics": topics, "handlers": handlers})
    return 0
