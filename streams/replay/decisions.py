"""Selects inputs by a handler's earlier decisions on them, and reads the fields that an operator names.

A decision names its input in ``ce_causationid``; the last decision on an input counts. The selection keeps a hash of
each selected identity. A field path such as ``outcome`` or ``llm.judged_by`` and its values are checked against the
event's schema: a value that no decision can have would select nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Any

from aiokafka import ConsumerRecord
from pydantic.alias_generators import to_camel, to_snake

from schemas.dead import DeadLetter, dead_letter_topic, is_marker
from schemas.event import Event
from schemas.outcome import Dead
from schemas.replays import ReplaySelection, TopicRanges
from streams.kafka.log_reader import committed_ranges, read_log
from streams.pipeline.failures import Input
from streams.replay.plan import ReplayError
from streams.settings.model import Settings
from streams.topology import Handler, Topic
from streams.topology.codec import decode
from streams.views.counts import DECISION_FIELDS as DECISION_FIELDS  # the console has it from here


def checked_path(event: type[Event], name: str, values: Iterable[str], option: str) -> str:
    """The path of a field with its names as on the wire; ``option`` is for the message.

    Raises:
        ReplayError: There is no such field, or it can't have one of the values.
    """
    path, allowed = _field(event, name)
    if allowed and (wrong := sorted(set(values) - set(allowed))):
        raise ReplayError(f"{option} {wrong[0]!r} is no {path}; there are {', '.join(allowed)}")
    return path


def allowed_values(event: type[Event], path: str) -> list[str]:
    """The values that a field can have, as text; empty if they are not a closed set."""
    return _field(event, path)[1]


def _field(event: type[Event], name: str) -> tuple[str, list[str]]:
    """The wire path of a field, and ``allowed_values``. Raises ReplayError if there is no such field."""
    schema = event.model_json_schema(by_alias=True, mode="serialization")
    nodes: list[Mapping[str, Any]] = [schema]
    path: list[str] = []
    for part in name.split("."):
        fields: dict[str, list[Mapping[str, Any]]] = {}
        for node in nodes:
            for known, inner in node.get("properties", {}).items():
                fields.setdefault(known, []).extend(_alternatives(schema, inner))
        found = next((style for style in (part, to_camel(part), to_snake(part)) if style in fields), None)
        if found is None:
            where = f" in {name}" if path else ""
            raise ReplayError(
                f"{event.__name__} has no field {part!r}{where}; there are {', '.join(sorted(fields)) or 'none'}"
            )
        path.append(found)
        nodes = fields[found]
    closed = [_values(node) for node in nodes]
    return ".".join(path), list(dict.fromkeys(chain(*closed))) if all(closed) else []


def _values(node: Mapping[str, Any]) -> list[str]:
    known = [node["const"]] if "const" in node else _VALUES_OF_TYPE.get(node.get("type", ""), [])
    return list(map(str, node.get("enum", known)))


_VALUES_OF_TYPE = {"boolean": ["true", "false"], "null": ["null"]}


def _alternatives(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A node without references and unions; the items of a list for the list."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    inner = [*node.get("anyOf", ()), *node.get("oneOf", ()), *([node["items"]] if "items" in node else [])]
    if not inner or "properties" in node:
        yield node
        return
    for alternative in inner:
        yield from _alternatives(schema, alternative)


NONE = "none"
"""The outcome of an input without a decision and without a dead letter."""
DEAD = "dead"
"""The outcome of an input with a dead letter and without a decision."""


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Selects inputs by a handler's decisions on them.

    Attributes:
        topic: The topic of the decisions.
        values: Fields with the values that select a decision; all of the fields must match.
        special: ``NONE`` and ``DEAD``, if inputs with these outcomes are selected.
    """

    topic: Topic
    values: Mapping[str, set[str]] = field(default_factory=dict)
    special: frozenset[str] = frozenset()

    def matches(self, decision: Mapping[str, Any]) -> bool:
        if self.special and not self.values:
            return False
        return all(any(value in wanted for value in values_at(decision, name)) for name, wanted in self.values.items())


_SELECTED, _DECIDED = "selected", "decided"


@dataclass(slots=True)
class PreviousDecisions:
    """The inputs with their last outcome, as hashes of 16 bytes of their identities.

    Inputs whose decision is not selected are kept only for a filter of ``NONE`` or ``DEAD``.
    """

    filter: DecisionFilter
    _last: dict[bytes, str] = field(default_factory=dict)

    def selects(self, identity: str) -> bool:
        last = self._last.get(_digest(identity), NONE)
        return last == _SELECTED or last in self.filter.special

    def decided(self, identity: str, decision: Mapping[str, Any]) -> None:
        """Notes a decision on the input, in place of earlier ones."""
        digest = _digest(identity)
        if self.filter.matches(decision):
            self._last[digest] = _SELECTED
        elif self.filter.special:
            self._last[digest] = _DECIDED
        else:
            self._last.pop(digest, None)

    def died(self, identity: str) -> None:
        """Notes a dead letter of the input, if there is no decision on it."""
        self._last.setdefault(_digest(identity), DEAD)


def decision_filter(handler: Handler, selection: ReplaySelection) -> DecisionFilter | None:
    """The part of a selection that tests a handler's decisions; None if there is no such part.

    Raises:
        ReplayError: The handler makes no such decisions, or they can't have the value.
    """
    by_tier = bool(selection.tiers) and "tier" not in handler.consumes.event.model_fields
    if not (selection.outcomes or selection.judged_by or by_tier):
        return None
    topic = _decisions_of(handler, by_tier)
    special = frozenset(selection.outcomes) & {NONE, DEAD}
    if special and (by_tier or selection.judged_by):
        raise ReplayError(
            f"--outcome {' and '.join(sorted(special))} means inputs without a decision, "
            "so they have no tier or judge: leave --tier and --judged-by out"
        )
    asked = [("--tier", "tier", tier) for tier in selection.tiers if by_tier]
    for outcome in selection.outcomes:
        name, equals, value = outcome.partition("=")
        if equals:
            asked.append(("--outcome", name, value))
        elif outcome not in special:
            asked.append(("--outcome", DECISION_FIELDS[topic.event], outcome))
    if selection.judged_by:
        asked.append(("--judged-by", "llm.judged_by", selection.judged_by))
    values: dict[str, set[str]] = {}
    for option, name, value in asked:
        values.setdefault(checked_path(topic.event, name, [value], option), set()).add(value)
    return DecisionFilter(topic, values, special)


async def decision_ranges(settings: Settings, handler: Handler, selection: ReplaySelection) -> tuple[TopicRanges, ...]:
    """The ranges of a handler's decisions that a selection tests; empty if it tests none.

    A plan keeps the ranges of its start, so a resumed replay selects the same records.

    Raises:
        ReplayError: The handler makes no such decisions.
        KafkaError: The cluster can't be read.
    """
    wanted = decision_filter(handler, selection)
    if wanted is None:
        return ()
    topics = [wanted.topic.name]
    if wanted.special:
        topics.append(dead_letter_topic(handler.consumes.name, handler.group))
    return await committed_ranges(settings.kafka, topics)


async def read_decisions(
    settings: Settings,
    handler: Handler,
    wanted: DecisionFilter,
    until: Sequence[TopicRanges],
    advance: Callable[[], None] = lambda: None,
) -> PreviousDecisions:
    """Reads a handler's decisions in the ranges of ``decision_ranges``; calls ``advance`` for each of them.

    Takes about 150 bytes for each selected input. For ``none`` and ``dead`` it takes them for each decided input too.

    Raises:
        KafkaError: The cluster can't be read.
    """
    previous = PreviousDecisions(wanted)
    for decided in until:
        async with aclosing(read_log(settings.kafka, decided.topic, decided.ranges)) as records:
            async for record in records:
                advance()
                if decided.topic == wanted.topic.name:
                    _note_decision(previous, record, f"assay/{handler.name}".encode())
                elif not is_marker(record.headers):
                    previous.died(DeadLetter.of(record.headers).root_id)
    return previous


def identity_of(record: ConsumerRecord) -> str:
    """The identity of an input, which its outputs carry as ``ce_causationid``."""
    return Input.of(record).provenance.identity


def values_at(part: Any, path: str) -> Iterator[str]:
    """The values at a path as text, also of each item of a list; other values than text are JSON, such as ``null``."""
    name, _, below = path.partition(".")
    if isinstance(part, list):
        for item in part:
            yield from values_at(item, path)
    elif path:
        if isinstance(part, dict):
            yield from values_at(part.get(name), below)
    else:
        yield part if isinstance(part, str) else json.dumps(part)


def _note_decision(previous: PreviousDecisions, record: ConsumerRecord, source: bytes) -> None:
    headers = {name: value for name, value in record.headers if value is not None}
    causation = headers.get("ce_causationid")
    if causation is None or record.value is None or headers.get("ce_source") != source:
        return
    decision: Mapping[str, Any] = {}
    if previous.filter.values:
        event = decode(previous.filter.topic, record.value, record.headers, None)
        decision = {} if isinstance(event, Dead) else event.to_wire()
    previous.decided(causation.decode("utf-8", "replace"), decision)


def _decisions_of(handler: Handler, by_tier: bool) -> Topic:
    """The topic of a handler's decisions: the first that it emits with a decision field, or with a tier."""
    for topic in handler.emits:
        if "tier" in topic.event.model_fields if by_tier else topic.event in DECISION_FIELDS:
            return topic
    if by_tier:
        raise ReplayError(f"{handler.name} neither reads nor writes a tier: leave --tier out")
    raise ReplayError(f"{handler.name} writes no decisions to choose by: leave --outcome and --judged-by out")


def _digest(identity: str) -> bytes:
    return blake2b(identity.encode("utf-8", "replace"), digest_size=16).digest()
