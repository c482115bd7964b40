"""Generated documentation of the handlers, from ``templates/pages``."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.dead import dead_letter_topic
from schemas.rules import Rules
from streams.generate.asyncapi import example_files
from streams.generate.templates import rendered_text
from streams.topology import HANDLERS, TOPICS, Handler, Topic
from streams.topology.text import paragraphs, prose, to_table

_HEAD = ("key", "shipped value", "meaning")
MAX_VALUE = 60  # characters of a value that still fit a table


def handler_page(handler: Handler, document: dict[str, Any]) -> dict[Path, str]:
    """``docs/handlers/<name>.md``, with the values of ``document``, the shipped configuration."""
    sections = handler.rules.model_fields.keys() & document.keys()
    rules = handler.rules.model_validate({name: document[name] for name in sections})
    shared = [name for name in handler.rules.model_fields if name in _shared_sections()]
    own = [name for name in handler.rules.model_fields if name not in shared]
    page = rendered_text(
        "pages/handler.md.j2",
        handler=handler,
        about=paragraphs(sys.modules[handler.fn.__module__].__doc__ or ""),
        decides=prose(handler.fn),
        asks=prose(handler.read) if handler.read is not None else "",
        dead_letters=dead_letter_topic(handler.consumes.name, handler.group),
        keys=to_table(_HEAD, list(_keys(rules, own))) if own else "",
        shared=", ".join(f"`{handler.rules.model_fields[name].alias or name}`" for name in shared),
        example=next((path.name for path in example_files(handler.consumes)), "minimal.json"),
    )
    return {Path("docs/handlers") / f"{handler.name}.md": page}


@cache
def _shared_sections() -> dict[str, list[Handler]]:
    readers: dict[str, list[Handler]] = {}
    for handler in HANDLERS:
        for name in handler.rules.model_fields:
            readers.setdefault(name, []).append(handler)
    return {name: handlers for name, handlers in readers.items() if len(handlers) > 1}


def _keys(rules: Rules, sections: Container[str]) -> Iterator[tuple[str, str, str]]:
    """Every key of the sections that is shown, depth first; a list or a mapping of sections stays one key."""
    pending: list[tuple[str, BaseModel]] = [("", rules)]
    while pending:
        prefix, section = pending.pop()
        nested: list[tuple[str, BaseModel]] = []
        values = section.model_dump(mode="json")
        for name, field in type(section).model_fields.items():
            if field.exclude or (section is rules and name not in sections):
                continue
            key, value = f"{prefix}{field.alias or name}", getattr(section, name)
            if isinstance(value, BaseModel):
                nested.append((f"{key}.", value))
            else:
                yield f"`{key}`", _value(values[name]), field.description or ""
        pending += reversed(nested)


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= MAX_VALUE:
        return f"`{text}`"
    return f"{len(value)} entries" if isinstance(value, (list, dict)) else f"`{text[:MAX_VALUE]}`…"


def topology_page() -> dict[Path, str]:
    page = rendered_text("pages/topology.md.j2", mermaid=mermaid(), topics=TOPICS, writers=writers, readers=readers)
    return {Path("docs/topology.md"): page}


def mermaid() -> str:
    lines = ["flowchart LR"]
    lines += [f'  {_id(topic.name)}(["{topic.name}"])' for topic in TOPICS]
    lines += [f'  {handler.name}["{handler.name}"]' for handler in HANDLERS]
    outsiders = dict.fromkeys(name for topic in TOPICS for name in (*topic.written_by, *topic.read_by))
    lines += [f'  {_id(person)}("{person}")' for person in outsiders]
    for topic in TOPICS:
        lines += [f"  {_id(writer)} --> {_id(topic.name)}" for writer in writers(topic)]
        lines += [f"  {_id(topic.name)} --> {_id(reader)}" for reader in readers(topic)]
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
    return topic.written_by + tuple(handler.name for handler in HANDLERS if topic in handler.emits)


def readers(topic: Topic) -> tuple[str, ...]:
    return tuple(handler.name for handler in HANDLERS if handler.consumes == topic) + topic.read_by


def _id(name: str) -> str:
    return name.replace(".", "_").replace(" ", "_")
