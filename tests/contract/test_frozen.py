"""What users depend on by name is frozen: topics, groups, ids, settings, metrics, events, commands.

``frozen.json`` has a line for each. ``python -m tests.contract.test_frozen`` writes it again, for additions. It refuses
to lose a name that no entry below "Removed" or "Renamed" in the unreleased part of ``CHANGELOG.md`` has.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, get_args

from aiokafka import TopicPartition
from pydantic import BaseModel

from schemas.dead import dead_letter_topic
from schemas.replays import ReplayPlan
from streams.cli.commands import COMMANDS, imported_command
from streams.dlq import redrive
from streams.generate.asyncapi import schema_of
from streams.kafka.settings import KafkaSettings
from streams.kafka.transactions import transactional_id
from streams.publish.sending import RunLog
from streams.replay import plan_store
from streams.settings.model import Settings
from streams.telemetry.metrics import METRICS
from streams.topology import HANDLERS, TOPICS
from streams.topology.topics import replay_dead_letters, replay_group, run_group, shadow_topic
from tests.samples import ROOT

FROZEN, CHANGELOG = ROOT / "tests/contract/frozen.json", ROOT / "CHANGELOG.md"
Contract = Mapping[str, list[str]]


@cache
def contract() -> dict[str, list[str]]:
    """The lines of today's code; the first word of a line is the name that users know."""
    parts = {
        "topics": _topics(),
        "groups": _groups(),
        "settings": _keys(Settings),
        "metrics": (f"{metric.name} {metric.kind} {' '.join(sorted(metric.labels))}".strip() for metric in METRICS),
        "events": _events(),
        "commands": _commands(),
    }
    return {name: sorted(lines) for name, lines in parts.items()}


def _topics() -> Iterator[str]:
    for topic in TOPICS:
        kinds = [name for name in ("raw_pages", "compacted", "readers_dedupe") if getattr(topic, name)]
        yield " ".join([topic.name, topic.event.__name__, f"key={topic.key_means}", *kinds])
    yield f"{shadow_topic('TOPIC', 'PLAN')} shadow"


def _groups() -> Iterator[str]:
    named: dict[str, Any] = {"plan": "PLAN", "run": "PLAN-RUN"}
    plan = ReplayPlan.model_construct(**named)
    for handler in HANDLERS:
        emits = ",".join(topic.name for topic in handler.emits)
        yield f"{handler.group} reads {handler.consumes.name} writes {emits} lane={handler.lane} v{handler.version}"
        yield f"{dead_letter_topic(handler.consumes.name, handler.group)} dead letters"
        yield f"{replay_group(handler.name, 'PLAN')} replay"
        yield f"{replay_dead_letters(handler, 'PLAN')} dead letters of a replay"
        replay = run_group(handler.name, plan)
        reads = [(group, handler.consumes.name) for group in (handler.group, replay)]
        for group, topic in [*reads, *((retry.group, retry.topic) for retry in handler.retry_topics)]:
            yield f"{transactional_id(group, TopicPartition(topic, 'PARTITION'))} transactional id"
        for retry in handler.retry_topics:
            yield f"{retry.topic} retry read by {retry.group}"
    kafka = KafkaSettings.model_construct(topic_prefix="", transaction_timeout_seconds=1.0)
    run = RunLog(Settings.model_construct(kafka=kafka), TOPICS[0], "RUN")
    yield f"{run.group} publish"
    yield f"{run.transactional_id} transactional id"
    for module in (plan_store, redrive):
        # These ids have no function of their own.
        for form in re.findall(r'own_id = f"(.+)"', inspect.getsource(module)):
            yield f"{re.sub('{.*?}', '*', form)} transactional id of {module.__name__.rpartition('.')[2]}"


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        nested = _models(field.annotation)
        for kind in nested:
            yield from _keys(kind, f"{key}.")
        if not nested:
            yield key


def _models(kind: Any) -> list[type[BaseModel]]:
    """The models in a type, such as ``dict[str, tuple[Model, ...]]``."""
    found = [kind] if isinstance(kind, type) and issubclass(kind, BaseModel) else []
    return found + [model for part in get_args(kind) for model in _models(part)]


def _events() -> Iterator[str]:
    for topic in TOPICS:
        schema = schema_of(topic)
        bare = json.dumps(_without_texts(schema), sort_keys=True)
        yield f"{topic.name} {sha256(bare.encode()).hexdigest()[:16]} {' '.join(sorted(schema['properties']))}"


def _without_texts(part: Any) -> Any:
    """A schema without descriptions, which may change."""
    if isinstance(part, dict):
        return {key: _without_texts(value) for key, value in part.items() if key != "description"}
    return [_without_texts(item) for item in part] if isinstance(part, list) else part


def _commands() -> Iterator[str]:
    for name in COMMANDS:
        command = imported_command(name)
        if not getattr(command, "commands", None) or command.callback:
            yield from _options(f"assay_{name}", command)
        for below, nested in getattr(command, "commands", {}).items():
            yield from _options(f"assay_{name}_{below}", nested)


def _options(name: str, command: Any) -> Iterator[str]:
    yield f"{name} {(command.help or '').splitlines()[0] if command.help else ''}".strip()
    for parameter in command.params:
        if "--help" not in parameter.opts:
            option = max(parameter.opts, key=len)
            others = ",".join([*(opt for opt in parameter.opts if opt != option), *parameter.secondary_opts])
            shown = f" [{parameter.default}]" if parameter.default not in (None, False, "", ()) else ""
            yield f"{name}:{option} {others} {getattr(parameter, 'help', '') or ''}{shown}".strip()


Name = tuple[str, ...]


def names(part: str, lines: list[str]) -> set[Name]:
    """What may not be lost: names, sections of settings, labels of metrics, properties of events, options."""
    found: set[Name] = set()
    for line in lines:
        name, *words = line.split(" ")
        if part == "commands":
            command, _, option = name.partition(":")
            aliases = words[0].split(",") if words and words[0].startswith("-") else []
            name, words = command.replace("_", " "), [option, *aliases] if option else []
        elif part == "events":
            words = words[1:]
        elif part == "settings":
            found |= {(name[: dot.start()],) for dot in re.finditer(r"\.", name)}
        elif part != "metrics":
            words = []
        found |= {(name,), *((name, word) for word in words)}
    return found


def lost(before: Contract, now: Contract, entries: list[str]) -> list[Name]:
    """The names that are gone and in no entry. An entry with a section, command or metric has all that is below it."""
    gone = {name for part, lines in before.items() for name in names(part, lines) - names(part, now.get(part, []))}

    def is_known(name: Name) -> bool:
        ends = [match.start() for match in re.finditer(r"[. ]|$", name[0])]
        above = {(name[0][:end],) for end in ends} & gone
        return any(_has(entry, words) for words in (name, *above) for entry in entries)

    return sorted(name for name in gone if not is_known(name))


def _has(entry: str, words: Name) -> bool:
    """Whether an entry has each word as a whole: alone in backticks, or with a label, field or option."""
    if len(words) == 1:
        return re.search(rf"(?<=`){re.escape(words[0])}(?![\w-]|\.\w| -)", entry) is not None
    bare = [re.escape(re.sub(r"\.v\d+$", "", word)) for word in words]
    return all(re.search(rf"(?<![\w.-]){word}(?![\w-]|\.(?!v\d)\w)", entry) for word in bare)


def removals(log: str) -> list[str]:
    """The list items and table rows below "Removed" and "Renamed" in the unreleased part of a change log."""
    parts = log.split("\n## [")[1].split("\n### ")[1:]
    chosen = "\n".join(part for part in parts if part.startswith(("Removed", "Renamed")))
    return [" ".join(entry.split()) for entry in re.split(r"\n(?=[-|])", chosen)]


def test_the_contract_is_as_it_is_written_down() -> None:
    frozen, now = json.loads(FROZEN.read_text("utf-8")), contract()
    assert lost(frozen, now, removals(CHANGELOG.read_text("utf-8"))) == [], "CHANGELOG.md, [Unreleased], Removed"
    for part, lines in now.items():
        gone, new = sorted(set(frozen[part]) - set(lines)), sorted(set(lines) - set(frozen[part]))
        assert (gone, new) == ([], []), f"{part}: write it again: python -m tests.contract.test_frozen"
    assert len(now["settings"]) > 500


def main() -> int:
    """Writes the contract; refuses to lose a name that the change log does not have."""
    now = contract()
    before = json.loads(FROZEN.read_text("utf-8")) if FROZEN.exists() else {}
    if found := lost(before, now, removals(CHANGELOG.read_text("utf-8"))):
        missing = (" ".join(name) for name in found)
        print("CHANGELOG.md, [Unreleased], Removed, has no entry of these:", *missing, sep="\n  ", file=sys.stderr)
        return 1
    FROZEN.write_text(json.dumps(now, indent=0, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
