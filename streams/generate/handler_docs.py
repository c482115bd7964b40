"""A page of documentation for each handler, from the topology, the docstrings and the described configuration."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from schemas.dead import dead_letter_topic
from schemas.rules import Rules
from streams.generate.docstrings import paragraphs, prose
from streams.generate.documents import IN_MARKDOWN
from streams.topology import Handler, Topic

REPLAY = {
    "safe": "safe: the same input under the same rules gives the same output",
    "paid": "costs money: needs a budget",
    "never": "refused: it would reach into the world again",
}
MAX_VALUE = 60
"""Characters of a value that still fit a table."""


def handler_page(handler: Handler, document: dict[str, Any]) -> dict[Path, str]:
    """``docs/handlers/<name>.md``.

    Args:
        handler: What the page is about.
        document: The shipped configuration, whose values are shown.
    """
    sections = handler.rules.model_fields.keys() & document.keys()
    rules = handler.rules.model_validate({name: document[name] for name in sections})
    module = sys.modules[handler.fn.__module__]
    parts = [
        IN_MARKDOWN,
        f"# {handler.name}",
        paragraphs(module.__doc__ or ""),
        "## What it decides",
        prose(handler.fn),
    ]
    if handler.read is not None:
        parts += [
            f"It may ask for something of the world, {handler.rounds} times an input at most.",
            prose(handler.read),
        ]
    parts += [
        "## How it runs",
        _table(("", ""), _running(handler)),
        "## What it depends on",
        "Its decisions carry `config_version`, a hash over the keys below. A key is set in `config/`, or from the"
        " environment as `ASSAY_` and the key in capitals with `__` for each dot. The value in force is printed by"
        " `assay config show`.",
        _table(("key", "shipped value", "meaning"), _keys(rules)),
        "## Try it",
        f"```sh\npython -m json.tool --compact schemas/examples/{handler.consumes.name}/minimal.json"
        f" | assay try {handler.name}\n```",
        "One line comes out for each line that goes in; no broker is needed. `docs/topology.md` shows where the handler"
        " stands.",
    ]
    text = "\n\n".join(part for part in parts if part)
    return {Path("docs/handlers") / f"{handler.name}.md": text + "\n"}


def _running(handler: Handler) -> Iterator[tuple[str, str]]:
    yield "reads", _topic(handler.consumes)
    yield "writes", ", ".join(_topic(topic) for topic in handler.emits)
    yield "refuses to", f"`{dead_letter_topic(handler.consumes.name, handler.group)}`"
    yield "consumer group", f"`{handler.group}`"
    yield "lane", f"{handler.lane}, {handler.concurrency} at once in a process"
    if handler.tiers:
        yield "retries from", ", ".join(f"`{tier.topic}`" for tier in handler.tiers)
    yield "order", _order(handler)
    yield "objective", f"99 in 100 done within {handler.slo_seconds:g} s of their record's timestamp"
    yield "replay", REPLAY[handler.replay]
    yield "version", f"{handler.version}, part of the ids of its outputs"


def _order(handler: Handler) -> str:
    if handler.ordered_by_key:
        return f"kept by {handler.consumes.key_means}"
    return f"not kept; one at a time by {handler.consumes.key_means}" if handler.paced_by_key else "not kept"


def _topic(topic: Topic) -> str:
    return f"`{topic.name}` ({topic.event.__name__})"


def _keys(rules: Rules) -> Iterator[tuple[str, str, str]]:
    """Every key of every section, depth first; a list or a mapping of sections stays one key."""
    pending: list[tuple[str, BaseModel]] = [("", rules)]
    while pending:
        prefix, section = pending.pop()
        nested: list[tuple[str, BaseModel]] = []
        values = section.model_dump(mode="json")
        for name, field in type(section).model_fields.items():
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


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines])
