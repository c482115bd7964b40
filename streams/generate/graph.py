"""The topology as a graph: Mermaid for ``docs/topology.md``, plain lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from streams.generate.templates import rendered_text
from streams.topology import HANDLERS, TOPICS, Topic


def topology_page() -> dict[Path, str]:
    page = rendered_text("pages/topology.md.j2", mermaid=mermaid(), topics=TOPICS, writers=writers, readers=readers)
    return {Path("docs/topology.md"): page}


def mermaid() -> str:
    lines = ["flowchart LR"]
    lines += [f'  {_id(topic.name)}(["{topic.name}"])' for topic in TOPICS]
    lines += [f'  {handler.name}["{handler.name}"]' for handler in HANDLERS]
    lines += [f'  {_id(person)}("{person}")' for person in _outsiders()]
    lines += [f"  {source} --> {target}" for source, target in _edges()]
    lines.append("  classDef handler stroke-width:2px")
    lines.append(f"  class {','.join(handler.name for handler in HANDLERS)} handler")
    return "\n".join(lines)


def plain_text() -> str:
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
    return list(dict.fromkeys(name for topic in TOPICS for name in (*topic.written_by, *topic.read_by)))


def _id(name: str) -> str:
    return name.replace(".", "_").replace(" ", "_")
