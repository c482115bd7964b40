"""Generated documentation, from ``templates/pages``: handlers, their shared settings, metrics, features of ranking."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from handlers.ranking.model import (
    OBJECTIVES,
    TOTAL_FEATURES_PHASE_A,
    TOTAL_FEATURES_PHASE_C,
    VERSION_PHASE_A,
    VERSION_PHASE_C,
    Feature,
    Manifest,
)
from schemas.dead import dead_letter_topic
from schemas.rules import Rules
from streams.generate.asyncapi import example_files
from streams.generate.templates import rendered_text
from streams.telemetry.labels import LABELS, TASKS, label_rows, most_series
from streams.telemetry.metrics import METRICS, MetricDef
from streams.topology import HANDLERS, Handler
from streams.topology.text import paragraphs, prose, to_table

_HEAD = ("key", "shipped value", "meaning")
MAX_VALUE = 60
"""Characters of a value that still fit a table."""


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
        keys=to_table(_HEAD, [*_keys(rules, own), *_references(shared)]),
        example=next((path.name for path in example_files(handler.consumes)), "minimal.json"),
    )
    return {Path("docs/handlers") / f"{handler.name}.md": page}


def settings_page(document: dict[str, Any]) -> dict[Path, str]:
    """The page of the sections that several handlers read; a section of one handler is on the handler's page."""
    sections = []
    for name, handlers in sorted(_shared_sections().items()):
        read = sorted(handlers[0].rules.model_fields.keys() & document.keys())
        rules = handlers[0].rules.model_validate({section: document[section] for section in read})
        table = to_table(_HEAD, _keys(rules, [name]))
        sections.append({"name": _alias(handlers[0], name), "handlers": handlers, "table": table})
    return {Path("docs/settings.md"): rendered_text("pages/settings.md.j2", sections=sections)}


@cache
def _shared_sections() -> dict[str, list[Handler]]:
    readers: dict[str, list[Handler]] = {}
    for handler in HANDLERS:
        for name in handler.rules.model_fields:
            readers.setdefault(name, []).append(handler)
    return {name: handlers for name, handlers in readers.items() if len(handlers) > 1}


def _alias(handler: Handler, section: str) -> str:
    return handler.rules.model_fields[section].alias or section


def _references(sections: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    for name in sections:
        alias = _alias(_shared_sections()[name][0], name)
        yield f"`{alias}`", f"[settings](../settings.md#{alias.lower()})", "Read by several handlers."


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


def metrics_page() -> dict[Path, str]:
    page = rendered_text(
        "pages/metrics.md.j2",
        metrics=METRICS,
        most_series=most_series,
        total=sum(map(most_series, METRICS)),
        labels=LABELS,
        values=_values,
    )
    return {Path("docs/metrics.md"): page}


def _values(label: str) -> str:
    """A label's values; where metrics differ in them, those of each."""
    if label == "version":
        return "the one that is installed"
    if label == "model":
        return "one for each task: `llm.model`, or the task's own"
    if label in ("handler", "topic"):
        return "as the topology has them"
    by_values: dict[tuple[str, ...], list[MetricDef]] = {}
    for metric in METRICS:
        if label in metric.labels:
            by_values.setdefault(tuple(dict.fromkeys(_of(metric, label))), []).append(metric)
    told = {values: ", ".join(f"`{value}`" if value else "empty" for value in values) for values in by_values}
    if len(told) == 1:
        return next(iter(told.values()))
    return "<br>".join(
        f"{', '.join(metric.name for metric in metrics)}: {told[values]}" for values, metrics in by_values.items()
    )


def _of(metric: MetricDef, label: str) -> Iterator[str]:
    for group, rows in label_rows(metric, dict.fromkeys(TASKS, "")).items():
        if label in group:
            yield from sorted(row[group.index(label)] for row in rows)


def ranking_features_page() -> dict[Path, str]:
    page = rendered_text(
        "pages/ranking-features.md.j2",
        features=Feature,
        fields=Manifest.model_fields,
        objectives=OBJECTIVES,
        base=TOTAL_FEATURES_PHASE_A,
        base_version=VERSION_PHASE_A,
        total=TOTAL_FEATURES_PHASE_C,
        total_version=VERSION_PHASE_C,
    )
    return {Path("docs/ranking-features.md"): page}
