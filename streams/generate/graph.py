"""The topology as a graph: Mermaid for ``docs/topology.md``, plain lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.topology import HANDLERS, TOPICS, Topic
from streams.topology.text import IN_MARKDOWN


def topology_page() -> dict[Path, str]:
    """``docs/topology.md``: the picture, and a table of the topics."""
    rows = "\n".join(_row(topic) for topic in TOPICS)
    page = f"""{IN_MARKDOWN}

# Topology

Stadiums are topics, boxes are handlers, and rounded boxes are outside Assay. Each handler is a consumer group of its
own.

```mermaid
{mermaid()}
```

| topic | key | event | written by | read by | partitions |
|---|---|---|---|---|---|
{rows}

The schema of each event is in `schemas/json`, examples in `schemas/examples`. A record on `pages.crawled.v1` may
also be a page's bytes; `docs/asyncapi.yaml` describes both forms and the headers. Dead letters of a handler go to
`<topic>.assay.<handler>.dlq`, the results of a replay to `<topic>.replay.<plan>`.
"""
    return {Path("docs/topology.md"): page}


def mermaid() -> str:
    """The graph as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    lines += [f'  {_id(topic.name)}(["{topic.name}"])' for topic in TOPICS]
    lines += [f'  {handler.name}["{handler.name}"]' for handler in HANDLERS]
    lines += [f'  {_id(person)}("{person}")' for person in _outsiders()]
    lines += [f"  {source} --> {target}" for source, target in _edges()]
    lines.append("  classDef handler stroke-width:2px")
    lines.append(f"  class {','.join(handler.name for handler in HANDLERS)} handler")
    return "\n".join(lines)


def plain_text() -> str:
    """The graph for a terminal: each topic, who writes it, and what its readers make of it."""
    blocks = []
    for topic in TOPICS:
        lines = [f"{topic.name}   from {', '.join(writers(topic)) or 'no producer yet'}"]
        readers = [handler for handler in HANDLERS if handler.consumes == topic]
        for handler in readers:
            lines.append(f"  └─ {handler.name}   lane {handler.lane}, within {handler.slo_seconds:g} s")
            lines += [f"       └─▶ {emitted.name}" for emitted in handler.emits]
        lines += [f"  └─ {reader}" for reader in topic.read_by]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def writers(topic: Topic) -> tuple[str, ...]:
    """The producers of a topic: outsiders first, then handlers."""
    return topic.written_by + tuple(handler.name for handler in HANDLERS if topic in handler.emits)


def readers(topic: Topic) -> tuple[str, ...]:
    """The consumers of a topic: handlers first, then outsiders."""
    return tuple(handler.name for handler in HANDLERS if handler.consumes == topic) + topic.read_by


def _edges() -> Iterator[tuple[str, str]]:
    for topic in TOPICS:
        yield from ((_id(writer), _id(topic.name)) for writer in writers(topic))
        yield from ((_id(topic.name), _id(reader)) for reader in readers(topic))


def _outsiders() -> list[str]:
    names = (name for topic in TOPICS for name in (*topic.written_by, *topic.read_by))
    return list(dict.fromkeys(names))


def _id(name: str) -> str:
    return name.replace(".", "_").replace(" ", "_")


def _row(topic: Topic) -> str:
    columns = (
        f"`{topic.name}`",
        topic.key_means,
        f"{topic.event.__name__}: {topic.meaning}",
        ", ".join(writers(topic)),
        ", ".join(readers(topic)),
        f"{topic.partitions}, compacted" if topic.compacted else str(topic.partitions),
    )
    return f"| {' | '.join(columns)} |"
