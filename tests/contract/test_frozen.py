"""What users depend on by name is frozen: topics, groups, ids, settings, metrics, events, commands.

``frozen.json`` has a line for each. ``python -m tests.contract.test_frozen`` writes it again. It refuses to lose a line
whose name is not in the unreleased part of ``CHANGELOG.md``, so nothing is removed or renamed in silence.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from schemas.dead import dead_letter_topic
from streams.cli.commands import COMMANDS, imported_command
from streams.settings.model import Settings
from streams.telemetry.metrics import METRICS
from streams.topology import HANDLERS, TOPICS
from streams.topology.event_schemas import schema_of
from streams.topology.names import replay_dead_letters, replay_group, shadow_topic
from tests.samples import ROOT

FROZEN = ROOT / "tests/contract/frozen.json"
Contract = Mapping[str, list[str]]


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
    for handler in HANDLERS:
        emits = ",".join(topic.name for topic in handler.emits)
        yield f"{handler.group} reads {handler.consumes.name} writes {emits} lane={handler.lane} v{handler.version}"
        yield f"{dead_letter_topic(handler.consumes.name, handler.group)} dead letters"
        yield f"{replay_group(handler.name, 'PLAN')} replay"
        yield f"{replay_dead_letters(handler, 'PLAN')} dead letters of a replay"
        # As ``streams.kafka.transactions.transactional_id`` makes it.
        yield f"{handler.group}.{handler.consumes.name}.PARTITION transactional id"
        for retry in handler.retry_topics:
            yield f"{retry.topic} retry read by {retry.group}"


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        nested = [kind for kind in (field.annotation, *get_args(field.annotation)) if _is_model(kind)]
        if nested:
            for kind in nested:
                yield from _keys(kind, f"{key}.")
        else:
            yield key


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


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
            yield f"{name}:{option} {others} {getattr(parameter, 'help', '') or ''}".strip()


def lost(before: Contract, now: Contract, told: str) -> list[str]:
    """The lines whose name is gone, and is not told; of a command's option, ``assay_replay:--force``, either part."""
    names = {line.split(" ")[0] for lines in now.values() for line in lines}
    gone = [line for lines in before.values() for line in lines if line.split(" ")[0] not in names]
    return [line for line in gone if not any(part in told for part in _told_as(line.split(" ")[0]))]


def _told_as(name: str) -> list[str]:
    """How a change log may tell of a name: itself, its section, its command, or its option."""
    (command, _, option), (section, _, _) = name.partition(":"), name.rpartition(".")
    return [name, command.replace("_", " "), *([option] if option else []), *([section] if "." in section else [])]


def unreleased() -> str:
    """The unreleased part of the change log."""
    return (ROOT / "CHANGELOG.md").read_text("utf-8").split("\n## [")[1]


def test_the_contract_is_as_it_is_written_down() -> None:
    frozen, now = json.loads(FROZEN.read_text("utf-8")), contract()
    for part, lines in now.items():
        gone, new = sorted(set(frozen[part]) - set(lines)), sorted(set(lines) - set(frozen[part]))
        assert (gone, new) == ([], []), f"{part}: write it again: python -m tests.contract.test_frozen"
    assert len(now["settings"]) > 500


@pytest.mark.parametrize("part", ["topics", "groups", "settings", "metrics", "commands"])
def test_a_name_that_is_removed_in_silence_is_found(part: str) -> None:
    now = contract()
    name = "removed.in.silence"
    assert lost({part: [*now[part], f"{name} of a kind"]}, now, "") == [f"{name} of a kind"]
    assert lost({part: [*now[part], f"{name} of a kind"]}, now, f"- `{name}` is removed") == []


def main() -> int:
    """Writes the contract; refuses to lose a name that the change log does not tell."""
    now = contract()
    before = json.loads(FROZEN.read_text("utf-8")) if FROZEN.exists() else {}
    if found := lost(before, now, unreleased()):
        print("CHANGELOG.md, [Unreleased], does not tell of these:", *found, sep="\n  ", file=sys.stderr)
        return 1
    FROZEN.write_text(json.dumps(now, indent=0, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
