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
from typing import Any

from aiokafka import ConsumerRecord
from pydantic.alias_generators import to_camel, to_snake

from schemas.claims import ClaimEvaluated, UtteranceIndexed
from schemas.dead import DeadLetter, dead_letter_topic, is_marker
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.outcome import Dead
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged, SnippetsCompleted
from schemas.replays import ReplaySelection, TopicRanges
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.kafka.log_reader import committed_ranges, read_log
from streams.pipeline.failures import Input
from streams.replay.plan import ReplayError
from streams.settings.model import Settings
from streams.topology import Handler, Topic
from streams.topology.codec import decode


def wire_path(event: type[Event], name: str, handler: str) -> str:
    """The path with its fields named as on the wire. Raises ReplayError if there is no such field."""
    schema = event.model_json_schema(by_alias=True, mode="serialization")
    nodes: list[Mapping[str, Any]] = [schema]
    written: list[str] = []
    for part in name.split("."):
        fields: dict[str, list[Mapping[str, Any]]] = {}
        for node in nodes:
            for known, its in _fields(schema, node):
                fields.setdefault(known, []).append(its)
        found = next((style for style in (part, to_camel(part), to_snake(part)) if style in fields), None)
        if found is None:
            where = f"decisions of {handler} have no field {part!r}" + (f" in {name}" if written else "")
            raise ReplayError(f"{where}; there are {', '.join(sorted(fields)) or 'none'}")
        written.append(found)
        nodes = fields[found]
    return ".".join(written)


def check_values(event: type[Event], path: str, values: Iterable[str], option: str) -> None:
    """Refuses values that a field can't have; ``path`` is as on the wire, ``option`` is for the message.

    Raises:
        ReplayError: There is such a value.
    """
    allowed = allowed_values(event, path)
    if not allowed:
        return
    if wrong := sorted(set(values) - set(allowed)):
        raise ReplayError(f"{option} {wrong[0]!r} is no {path}; there are {', '.join(allowed)}")


def allowed_values(event: type[Event], path: str) -> list[str]:
    """The values that a field can have, as text; empty if they are not a closed set."""
    schema = event.model_json_schema(by_alias=True, mode="serialization")
    nodes: list[Mapping[str, Any]] = [schema]
    for part in path.split("."):
        nodes = [its for node in nodes for known, its in _fields(schema, node) if known == part]
    allowed: list[str] = []
    for leaf in (leaf for node in nodes for leaf in _alternatives(schema, node)):
        constant = [leaf["const"]] if "const" in leaf else None
        known = leaf.get("enum") or constant or _VALUES_OF_TYPE.get(leaf.get("type", ""))
        if known is None:
            return []
        allowed += map(str, known)
    return list(dict.fromkeys(allowed))


_VALUES_OF_TYPE = {"boolean": ["true", "false"], "null": ["null"]}


def _fields(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The fields of the objects at a node."""
    for each in _alternatives(schema, node):
        yield from each.get("properties", {}).items()


def _alternatives(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A node without references and unions; the items of a list for the list."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    inner = [*node.get("anyOf", ()), *node.get("oneOf", ()), *([node["items"]] if "items" in node else [])]
    if not inner or "properties" in node:
        yield node
        return
    for each in inner:
        yield from _alternatives(schema, each)


DECISION_FIELDS: Mapping[type[Event], str] = {
    ScoredPage: "tier",
    DocumentIndexed: "change",
    ResultsClassified: "needsExtraction",
    RetrievalEvaluated: "scoreSource",
    SearchEvaluated: "outcome",
    ExtractionCompleted: "status",
    RelevanceJudged: "outcome",
    SnippetsCompleted: "failure",
    ClaimEvaluated: "status",
    UtteranceIndexed: "change",
    RankingCompleted: "notes.outcome",  # of any stage: failed for a judge that failed
}
"""For each event that is a decision, the wire name of the field that ``--outcome VALUE`` tests."""

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
        present: Whether inputs with a matching decision are selected.
        absent: Whether inputs without a decision are selected.
        dead: Whether inputs with a dead letter are selected.
    """

    topic: Topic
    values: tuple[tuple[str, frozenset[str]], ...] = ()
    present: bool = True
    absent: bool = False
    dead: bool = False

    def matches(self, decision: Mapping[str, Any]) -> bool:
        """Whether a decision, as JSON, is selected."""
        return self.present and all(
            any(value in wanted for value in values_at(decision, name)) for name, wanted in self.values
        )


@dataclass(slots=True)
class PreviousDecisions:
    """The selected inputs, as hashes of 16 bytes of their identities."""

    filter: DecisionFilter
    _selected: set[bytes] = field(default_factory=set)
    _decided: set[bytes] = field(default_factory=set)
    _dead: set[bytes] = field(default_factory=set)

    def selects(self, identity: str) -> bool:
        """Whether the input of that identity is selected."""
        digest = _digest(identity)
        if digest in self._selected:
            return True
        if not (self.filter.absent or self.filter.dead) or digest in self._decided:
            return False
        return self.filter.dead if digest in self._dead else self.filter.absent

    def decided(self, identity: str, decision: Mapping[str, Any]) -> None:
        """Notes a decision on the input, in place of earlier ones."""
        digest = _digest(identity)
        if self.filter.matches(decision):
            self._selected.add(digest)
        else:
            self._selected.discard(digest)
        if self.filter.absent or self.filter.dead:
            self._decided.add(digest)

    def died(self, identity: str) -> None:
        """Notes a dead letter of the input."""
        self._dead.add(_digest(identity))


def decision_filter(handler: Handler, selection: ReplaySelection) -> DecisionFilter | None:
    """The part of a selection that tests a handler's decisions; None if there is no such part.

    Raises:
        ReplayError: The handler makes no such decisions, or they can't have the value.
    """
    by_tier = bool(selection.tiers) and "tier" not in handler.consumes.event.model_fields
    if not (selection.outcomes or selection.judged_by or by_tier):
        return None
    topic = _decisions_of(handler, by_tier)
    special = {NONE, DEAD}.intersection(selection.outcomes)
    if special and (by_tier or selection.judged_by):
        raise ReplayError(
            f"--outcome {' and '.join(sorted(special))} means inputs without a decision, "
            "so they have no tier or judge: leave --tier and --judged-by out"
        )
    values: dict[str, set[str]] = {}
    for outcome in selection.outcomes:
        name, found, value = outcome.partition("=")
        if found or outcome not in (NONE, DEAD):
            name, value = (name, value) if found else (DECISION_FIELDS[topic.event], outcome)
            path = wire_path(topic.event, name, handler.name)
            check_values(topic.event, path, [value], "--outcome")
            values.setdefault(path, set()).add(value)
    if by_tier:
        check_values(topic.event, "tier", selection.tiers, "--tier")
        values.setdefault("tier", set()).update(selection.tiers)
    if selection.judged_by:
        values.setdefault(wire_path(topic.event, "llm.judged_by", handler.name), set()).add(selection.judged_by)
    return DecisionFilter(
        topic,
        tuple((name, frozenset(some)) for name, some in sorted(values.items())),
        present=not special or bool(values),
        absent=NONE in special,
        dead=DEAD in special,
    )


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
    if wanted.absent or wanted.dead:
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
    source = f"assay/{handler.name}"
    for its in until:
        async with aclosing(read_log(settings.kafka, its.topic, its.ranges)) as records:
            async for record in records:
                advance()
                if its.topic == wanted.topic.name:
                    _note_decision(previous, record, source)
                elif not is_marker(record.headers):
                    previous.died(DeadLetter.of(record.headers).root_id)
    return previous


def identity_of(record: ConsumerRecord) -> str:
    """The identity of an input, which its outputs carry as ``ce_causationid`` (R-007)."""
    return Input.of(record).provenance.identity


def values_at(part: Any, path: str) -> Iterator[str]:
    """The values at a path as text, also of each item of a list; other values than text are JSON, such as ``null``."""
    name, _, rest = path.partition(".")
    if isinstance(part, list):
        for item in part:
            yield from values_at(item, path)
    elif path:
        if isinstance(part, dict):
            yield from values_at(part.get(name), rest)
    else:
        yield part if isinstance(part, str) else json.dumps(part)


def _note_decision(previous: PreviousDecisions, record: ConsumerRecord, source: str) -> None:
    headers = {name: value for name, value in record.headers if value is not None}
    causation = headers.get("ce_causationid")
    if causation is None or record.value is None or headers.get("ce_source", b"").decode("utf-8", "replace") != source:
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
