"""Selects records of a topic for a replay: by key, domain, tier, and earlier decision.

A record is decoded only if the selection needs its contents. A decision names its input in ``ce_causationid``; the last
decision on an input counts, and the selection keeps a hash of each selected identity. A field path such as ``outcome``
or ``llm.judged_by`` and its values are checked against the event's schema: a value that no decision can have would
select nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Any

from aiokafka import ConsumerRecord
from pydantic.alias_generators import to_camel, to_snake

from handlers.html.links import host_of
from schemas.dead import DeadLetter, dead_letter_topic, is_marker
from schemas.event import Event
from schemas.outcome import Dead
from schemas.replays import OffsetRange, ReplayPlan, ReplaySelection, TopicRanges
from streams.kafka.log_reader import committed_ranges, read_log
from streams.pipeline.failures import Input
from streams.replay.plan import ReplayError, handler_of, stage_of
from streams.settings.model import Settings
from streams.topology import Handler, Topic
from streams.topology.codec import decode, timestamp
from streams.views.words import DECISION_FIELDS
from streams.workers.handler_jobs import RawRecord


def checked_path(event: type[Event], name: str, values: Iterable[str], option: str) -> str:
    """The path of a field with its names as on the wire; ``option`` is for the message.

    Raises ReplayError if there is no such field, or it can't have one of the values.
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


NONE = "none"  # the outcome of an input without a decision and without a dead letter
DEAD = "dead"  # the outcome of an input with a dead letter and without a decision


_SELECTED, _DECIDED = "selected", "decided"


@dataclass(slots=True)
class EarlierDecisions:
    """Selects inputs by a handler's last decisions on them.

    It keeps hashes of 16 bytes of the inputs' identities. Inputs whose decision is not selected are kept only if
    ``special`` selects inputs without one.
    """

    topic: Topic  # the topic of the decisions
    values: Mapping[str, set[str]]  # fields with the values that select a decision; all of the fields must match
    special: frozenset[str] = frozenset()  # ``NONE`` and ``DEAD``, if inputs with these outcomes are selected
    _last: dict[bytes, str] = field(default_factory=dict)

    def selects(self, identity: str) -> bool:
        last = self._last.get(_digest(identity), NONE)
        return last == _SELECTED or last in self.special

    def decided(self, identity: str, decision: Mapping[str, Any]) -> None:
        digest = _digest(identity)
        if self.matches(decision):
            self._last[digest] = _SELECTED
        elif self.special:
            self._last[digest] = _DECIDED
        else:
            self._last.pop(digest, None)

    def died(self, identity: str) -> None:
        self._last.setdefault(_digest(identity), DEAD)

    def matches(self, decision: Mapping[str, Any]) -> bool:
        if self.special and not self.values:
            return False
        return all(any(value in wanted for value in values_at(decision, name)) for name, wanted in self.values.items())


def decision_filter(handler: Handler, selection: ReplaySelection) -> EarlierDecisions | None:
    """The part of a selection that tests a handler's decisions, which are not read yet; None if there is no such part.

    Raises ReplayError if the handler makes no such decisions, or they can't have the value.
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
    return EarlierDecisions(topic, values, special)


async def decision_ranges(settings: Settings, handler: Handler, selection: ReplaySelection) -> tuple[TopicRanges, ...]:
    """The ranges of a handler's decisions that a selection tests; empty if it tests none.

    A plan keeps the ranges of its start, so a resumed replay selects the same records.
    Raises ReplayError if the handler makes no such decisions.
    """
    wanted = decision_filter(handler, selection)
    if wanted is None:
        return ()
    topics = [wanted.topic.name]
    if wanted.special:
        topics.append(dead_letter_topic(handler.consumes.name, handler.group))
    return await committed_ranges(settings.kafka, topics)


async def _read_decisions(
    settings: Settings,
    handler: Handler,
    earlier: EarlierDecisions,
    until: Sequence[TopicRanges],
    advance: Callable[[], None],
) -> None:
    """Reads a handler's decisions in the ranges of ``decision_ranges``; calls ``advance`` for each of them.

    Takes about 150 bytes for each selected input. For ``none`` and ``dead`` it takes them for each decided input too.
    Raises KafkaError.
    """
    for decided in until:
        async with aclosing(read_log(settings.kafka, decided.topic, decided.ranges)) as records:
            async for record in records:
                advance()
                if decided.topic == earlier.topic.name:
                    _note_decision(earlier, record, f"assay/{handler.name}".encode())
                elif not is_marker(record.headers):
                    earlier.died(DeadLetter.of(record.headers).root_id)


def identity_of(record: ConsumerRecord) -> str:
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


def _note_decision(earlier: EarlierDecisions, record: ConsumerRecord, source: bytes) -> None:
    headers = {name: value for name, value in record.headers if value is not None}
    causation = headers.get("ce_causationid")
    if causation is None or record.value is None or headers.get("ce_source") != source:
        return
    decision: Mapping[str, Any] = {}
    if earlier.values:
        event = decode(earlier.topic, record.value, record.headers, None)
        decision = {} if isinstance(event, Dead) else event.to_wire()
    earlier.decided(causation.decode("utf-8", "replace"), decision)


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


Selector = Callable[[ConsumerRecord], bool]
_ADDRESSES = ("url", "final_url", "target_url")
_DOMAIN = re.compile(r"[^\s/:*?#@]+")
_LISTS = ("results", "retrieved_content", "sources", "fetched", "skipped", "source_details")
"""Fields whose items have addresses."""


async def make_selector(
    settings: Settings,
    handler: Handler,
    selection: ReplaySelection,
    until: Sequence[TopicRanges],
    advance: Callable[[], None] = lambda: None,
) -> Selector:
    """A predicate that selects records and never raises. A record that can't be decoded has no domain and no tier.

    ``until`` has the ``decision_ranges`` of the start of the replay. ``advance`` is called for each earlier decision.

    Raises:
        ReplayError: The handler has nothing that the selection asks for.
        KafkaError: Earlier decisions can't be read.
    """
    tests: list[Selector] = []
    if selection.keys:
        keys = frozenset(key.encode() for key in selection.keys)
        tests.append(lambda record: record.key in keys)
    if (earlier := decision_filter(handler, selection)) is not None:
        await _read_decisions(settings, handler, earlier, until, advance)
        tests.append(lambda record: earlier.selects(identity_of(record)))
    if (by_contents := _by_contents(handler, selection)) is not None:
        tests.append(by_contents)
    return lambda record: all(test(record) for test in tests)


async def read_selected(
    settings: Settings, plan: ReplayPlan, parts: Iterable[Sequence[OffsetRange]], advance: Callable[[int], None]
) -> AsyncGenerator[ConsumerRecord]:
    """The records that a plan selects in parts of its ranges; ``advance`` is called for each record that is read.

    Raises ReplayError if the handler has nothing that the selection asks for.
    """
    stage = stage_of(plan)
    selects = await make_selector(settings, handler_of(plan), plan.selection, stage.decisions)
    for ranges in parts:
        async with aclosing(read_log(settings.kafka, stage.topic, ranges)) as records:
            async for record in records:
                advance(1)
                if selects(record):
                    yield record


def raw_record(record: ConsumerRecord) -> RawRecord:
    return RawRecord(record.value, record.headers, timestamp(record.timestamp), record.key)


def addresses(event: Event) -> Iterator[str]:
    """The addresses of an event: of its page, its target, and each of its results or sources."""
    for name in _ADDRESSES:
        if (address := getattr(event, name, None)) is not None:
            yield str(address)
    yield from getattr(event, "urls", None) or ()
    for name in _LISTS:
        for item in getattr(event, name, None) or ():
            yield from addresses(item)


def in_domain(address: str, domains: frozenset[str]) -> bool:
    """Whether the host of an address is one of the domains or a subdomain.

    >>> in_domain("https://shop.example.co.uk/a", frozenset({"example.co.uk"}))
    True
    >>> in_domain("https://notexample.co.uk/", frozenset({"example.co.uk"}))
    False
    """
    labels = host_of(address).split(".")
    return any(".".join(labels[at:]) in domains for at in range(len(labels)))


def _by_contents(handler: Handler, selection: ReplaySelection) -> Selector | None:
    """The conditions on the contents of a record; None if the selection has no such condition."""
    domains = frozenset(_domain(domain) for domain in selection.domains)
    tiers = frozenset(selection.tiers) if "tier" in handler.consumes.event.model_fields else frozenset()
    if tiers:
        checked_path(handler.consumes.event, "tier", tiers, "--tier")
    if not domains and not tiers:
        return None

    def test(record: ConsumerRecord) -> bool:
        event: Any = decode(handler.consumes, *raw_record(record))
        if isinstance(event, Dead) or (tiers and str(event.tier) not in tiers):
            return False
        return not domains or any(in_domain(address, domains) for address in addresses(event))

    return test


def _domain(given: str) -> str:
    """A domain in the spelling of hosts. An address or a pattern is refused: it would select nothing."""
    domain = given.strip().strip(".").lower()
    if not domain or not _DOMAIN.fullmatch(domain):
        raise ReplayError(
            f"--domain {given!r} is no domain; write it alone, such as example.com, which includes its subdomains"
        )
    return domain
