"""Generated documentation: a page for each handler, ``docs/metrics.md`` and ``docs/ranking-features.md``."""

from __future__ import annotations

import json
import sys
from collections.abc import Container, Iterable, Iterator
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
from streams.telemetry.labels import LABELS, TASKS, label_rows, most_series
from streams.telemetry.metrics import METRICS, MetricDef
from streams.topology import HANDLERS, Handler, Topic
from streams.topology.text import IN_MARKDOWN, paragraphs, prose, to_table

REPLAY = {
    "safe": "safe: the same input under the same rules gives the same output",
    "paid": "costs money: needs a budget",
    "never": "refused: it would fetch again",
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
    shared = [name for name in handler.rules.model_fields if name in _shared_sections()]
    own = [name for name in handler.rules.model_fields if name not in shared]
    module = sys.modules[handler.fn.__module__]
    example = next((path.name for path in example_files(handler.consumes)), "minimal.json")
    parts = [
        IN_MARKDOWN,
        f"# {handler.name}",
        paragraphs(module.__doc__ or ""),
        "## What it decides",
        prose(handler.fn),
    ]
    if handler.read is not None:
        parts += [
            f"It may ask for something, {handler.rounds} times an input at most.",
            prose(handler.read),
        ]
    parts += [
        "## How it runs",
        to_table(("", ""), _running(handler)),
        "## What it depends on",
        "Its decisions carry `config_version`, a hash over the keys below. A key is set in `config/`, or from the"
        " environment as `ASSAY_` and the key in capitals with `__` for each dot. The value in force is printed by"
        " `assay config show`.",
        to_table(("key", "shipped value", "meaning"), [*_keys(rules, own), *_references(shared)]),
        "## Try it",
        f"```sh\npython -m json.tool --compact schemas/examples/{handler.consumes.name}/{example}"
        f" | assay try {handler.name}\n```",
        "The command writes one line for each input line; it needs no broker. `docs/topology.md` shows its place among"
        " the handlers.",
    ]
    text = "\n\n".join(part for part in parts if part)
    return {Path("docs/handlers") / f"{handler.name}.md": text + "\n"}


def _running(handler: Handler) -> Iterator[tuple[str, str]]:
    yield "reads", _topic(handler.consumes)
    yield "writes", ", ".join(_topic(topic) for topic in handler.emits)
    yield "dead letters go to", f"`{dead_letter_topic(handler.consumes.name, handler.group)}`"
    yield "consumer group", f"`{handler.group}`"
    yield "lane", f"{handler.lane}, {handler.concurrency} at once in a process"
    if handler.retry_topics:
        yield "retries from", ", ".join(f"`{retry.topic}`" for retry in handler.retry_topics)
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


def settings_page(document: dict[str, Any]) -> dict[Path, str]:
    """The page of the sections that several handlers read; a section of one handler is on the handler's page."""
    parts = [IN_MARKDOWN, "# Settings of several handlers"]
    for name, handlers in sorted(_shared_sections().items()):
        read = sorted(handlers[0].rules.model_fields.keys() & document.keys())
        rules = handlers[0].rules.model_validate({section: document[section] for section in read})
        readers = ", ".join(f"[{handler.name}](handlers/{handler.name}.md)" for handler in handlers)
        table = to_table(("key", "shipped value", "meaning"), _keys(rules, [name]))
        parts += [f"## {_alias(handlers[0], name)}", f"Read by {readers}.", table]
    return {Path("docs/settings.md"): "\n\n".join(parts) + "\n"}


def _shared_sections() -> dict[str, list[Handler]]:
    """The handlers that read each section, of the sections that more than one reads."""
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
    """The page."""
    metrics = "\n".join(
        f"| `{metric.name}` | {metric.kind} | {metric.unit} | {', '.join(metric.labels)} | {most_series(metric)} "
        f"| {metric.meaning} |"
        for metric in METRICS
    )
    labels = "\n".join(f"| {name} | {meaning} | {_values(name)} |" for name, meaning in LABELS.items())
    page = f"""{IN_MARKDOWN}

# Metrics

Every process answers on `/metrics`. It also exports FastStream's own metrics, with the prefix `faststream`: their
label `handler` is the topic, and `consumer_group` the group. Their durations and sizes are those of the hand-over to
the pipeline, so use the metrics below for durations and ages. The group of a replay is there without the name of its
plan. [Traces](traces.md) show the way of one page or question.

| metric | kind | unit | labels | series at most | meaning |
|---|---|---|---|---|---|
{metrics}

No label holds an address, a query, a plan or an identifier. The number of series is that of a process that runs every
handler, with another model for each task; all in all it exposes {sum(map(most_series, METRICS))} at most, however long
it runs and whatever it is fed. A handler's own process has its share of them.

| label | meaning | values |
|---|---|---|
{labels}
"""
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
    """The page."""
    features = "\n".join(
        f"| {feature.value} | `{feature.name.lower()}` | {feature.meaning} | {feature.missing} |" for feature in Feature
    )
    fields = "\n".join(f"| `{name}` | {field.description} |" for name, field in Manifest.model_fields.items())
    phases = "\n".join(f"| {phase} | `{objective}` |" for phase, objective in OBJECTIVES.items())
    base, total = TOTAL_FEATURES_PHASE_A, TOTAL_FEATURES_PHASE_C
    page = f"""{IN_MARKDOWN}

# Features of the ranking

What the trees see of each candidate of a query (`ranking.trees`). Columns 0 to {base - 1} are the base,
`{VERSION_PHASE_A}`: they are computed from the query, the candidate and the stages before, and are the same whatever
is known of a candidate's trust, so a model of {base} features goes on as it was. Column {base} and the block of trust
behind it make them the {total} of `{VERSION_PHASE_C}`. A result's `features` in `ranking.completed.v1` are
always all {total}, a missing value as `null`, whether trees are asked or not: training reads what serving saw.

| column | name | meaning | missing value |
|---|---|---|---|
{features}

XGBoost sends a missing value (NaN) down the branch that did best in training; so column {base}
marks a candidate without trust, and the trees don't mistake it for one of low trust. In the cascade, where trees are
asked before the judge, the order before is the fused one and no judge has scored. A feature whose meaning changes makes
a new version.

## A model

A model is a folder with `manifest.json` and `model.json`, as XGBoost's `save_model` writes it. `ranking.trees.model`
names it: `shipped`, or a path to the folder or its manifest. XGBoost comes with the extra `assay[rank]`; the
image has it.

| key of the manifest | meaning |
|---|---|
{fields}

| phase | objective |
|---|---|
{phases}

Names, order, number and version of the features, the SHA-256 of the model file, the number and names of the features
in the model file and its objective are all checked when the configuration is read; what does not fit is refused with
the first thing that differs.

How sure the trees are is a probability. Of a binary model it is that of its first result being relevant. The scores of
the others are log-odds of a rank above another, and it is the probability that the first is rightly above the
second. Below `ranking.trees.confidence` the previous order is kept, and the trees' scores are shown beside it.
"""
    return {Path("docs/ranking-features.md"): page}
