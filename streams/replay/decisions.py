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
from enum import Enum
from hashlib import blake2b
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from aiokafka import ConsumerRecord
from pydantic import BaseModel

from schemas.claims import ClaimEvaluated, UtteranceIndexed
from schemas.dead import DeadLetter, dead_letter_topic, is_marker
from schemas.documents import DocumentIndexed
from schemas.event import Event
from schemas.extraction import ExtractionCompleted
from schemas.pages import ScoredPage
from schemas.ranking import RankingCompleted
from schemas.relevance import RelevanceJudged, SnippetsCompleted
from schemas.replays import ReplaySelection, TopicRanges
from schemas.retrieval import ResultsClassified, RetrievalEvaluated
from schemas.search import SearchEvaluated
from streams.kafka.log_reader import committed_ranges, read_log
from streams.pipeline.failures import Input
from streams.replay.plan import ReplayError
from streams.settings import Settings
from streams.topology import Handler, Topic


def wire_path(event: type[Event], name: str, handler: str) -> str:
    """A field as the wire has it, whichever of its names was given.

    Raises:
        ReplayError: There is no such field.
    """
    first, dot, rest = name.partition(".")
    for known, its in event.model_fields.items():
        if first in (known, its.alias):
            return f"{its.alias or known}{dot}{rest}"
    fields = ", ".join(sorted(its.alias or known for known, its in event.model_fields.items()))
    raise ReplayError(f"decisions of {handler} have no field {first!r}; there are {fields}")


def check_values(event: type[Event], path: str, values: Iterable[str], option: str) -> None:
    """Refuses values that a field can't have.

    Args:
        event: Whose field.
        path: As the wire has it, parts with dots between them.
        values: As they were typed.
        option: Which option has them, for the message.

    Raises:
        ReplayError: One of them can't be, or there is no such field below the first.
    """
    allowed = _values_of(event, path.split("."), path)
    if allowed is None:
        return
    if wrong := sorted(set(values) - set(allowed)):
        raise ReplayError(f"{option} {wrong[0]!r} is no {path}; there are {', '.join(allowed)}")


def _values_of(kind: Any, path: list[str], whole: str) -> list[str] | None:
    """The values of a type at a path, in order; None where there is no end of them."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _values_of(arguments[0], path, whole)
    if origin in (Union, UnionType):
        found: list[str] = []
        for one in arguments:
            some = ["null"] if one is NoneType else _values_of(one, path, whole)
            if some is None:
                return None
            found += some
        return list(dict.fromkeys(found))
    if origin in (tuple, list, frozenset):
        return _values_of(arguments[0], path, whole)
    if not path:
        return _of_leaf(kind, arguments if origin is Literal else None)
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return None
    for known, its in kind.model_fields.items():
        if path[0] == (its.alias or known):
            return _values_of(its.annotation, path[1:], whole)
    fields = ", ".join(sorted(its.alias or known for known, its in kind.model_fields.items()))
    raise ReplayError(f"there is no field {path[0]!r} in {whole}; there are {fields}")


def _of_leaf(kind: Any, literals: tuple[Any, ...] | None) -> list[str] | None:
    if literals is not None:
        return [str(value) for value in literals]
    if kind is bool:
        return ["true", "false"]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return None


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
"""Of each event that is a decision, the field that ``--outcome VALUE`` means, by its name on the wire."""

NONE = "none"
"""No decision, and no dead letter either."""
DEAD = "dead"
"""A dead letter, and no decision."""


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """What is looked for among a handler's decisions; an empty part leaves the choice open.

    Attributes:
        topic: Where the decisions stand.
        values: For each field the values of which it must have one.
        present: Whether inputs are meant for what was decided on them.
        absent: Whether inputs without any decision are meant.
        dead: Whether inputs are meant that are dead letters.
    """

    topic: Topic
    values: tuple[tuple[str, frozenset[str]], ...] = ()
    present: bool = True
    absent: bool = False
    dead: bool = False

    def meets(self, decision: Mapping[str, Any]) -> bool:
        """Whether a decision, as JSON, is of the kind that is looked for."""
        return self.present and all(
            any(value in wanted for value in _values(decision, name.split("."))) for name, wanted in self.values
        )


@dataclass(slots=True)
class PreviousDecisions:
    """The inputs that are meant: hashes of 16 bytes of their identities."""

    wanted: DecisionFilter
    _meant: set[bytes] = field(default_factory=set)
    _decided: set[bytes] = field(default_factory=set)
    _dead: set[bytes] = field(default_factory=set)

    def means(self, identity: str) -> bool:
        """Whether the input of that identity is meant."""
        at, wanted = _digest(identity), self.wanted
        if at in self._meant:
            return True
        if not (wanted.absent or wanted.dead) or at in self._decided:
            return False
        return wanted.dead if at in self._dead else wanted.absent

    def decided(self, identity: str, decision: Mapping[str, Any]) -> None:
        """A decision on the input; it takes the place of those before it."""
        at = _digest(identity)
        if self.wanted.meets(decision):
            self._meant.add(at)
        else:
            self._meant.discard(at)
        if self.wanted.absent or self.wanted.dead:
            self._decided.add(at)

    def died(self, identity: str) -> None:
        """The input is a dead letter."""
        self._dead.add(_digest(identity))


def wanted_of(handler: Handler, selection: ReplaySelection) -> DecisionFilter | None:
    """What a selection looks for among a handler's decisions; None where it does not ask for them.

    Raises:
        ReplayError: The handler makes no such decisions, or none of them can be so.
    """
    by_tier = bool(selection.tiers) and "tier" not in handler.consumes.event.model_fields
    if not (selection.outcomes or selection.judged_by or by_tier):
        return None
    topic = _decisions_of(handler, by_tier)
    special = {NONE, DEAD}.intersection(selection.outcomes)
    if special and (by_tier or selection.judged_by):
        raise ReplayError(
            f"--outcome {' and '.join(sorted(special))} means inputs that nobody has decided on, "
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
    """How far a selection looks at a handler's decisions; empty where it does not ask for them.

    Taken when a replay starts and kept with its plan, so that a resumed one means the same records.

    Raises:
        ReplayError: The handler makes no such decisions.
        KafkaError: The cluster can't be read.
    """
    wanted = wanted_of(handler, selection)
    if wanted is None:
        return ()
    letters = dead_letter_topic(handler.consumes.name, handler.group)
    return await committed_ranges(
        settings.kafka, [wanted.topic.name, *([letters] if wanted.absent or wanted.dead else [])]
    )


async def read_earlier(
    settings: Settings,
    handler: Handler,
    wanted: DecisionFilter,
    until: Sequence[TopicRanges],
    tell: Callable[[], None] = lambda: None,
) -> PreviousDecisions:
    """Reads a handler's decisions as far as ``decision_ranges`` said.

    ``tell`` is told of each decision.

    Memory is about 150 bytes for each input that is meant, and for each that was decided on where ``none`` or ``dead``
    are looked for.

    Raises:
        KafkaError: The cluster can't be read.
    """
    earlier = PreviousDecisions(wanted)
    source = f"assay/{handler.name}"
    for its in until:
        async with aclosing(read_log(settings.kafka, its.topic, its.ranges)) as records:
            async for record in records:
                tell()
                if its.topic == wanted.topic.name:
                    _note_decision(earlier, record, source)
                elif not is_marker(record.headers):
                    earlier.died(DeadLetter.of(record.headers).root_id)
    return earlier


def identity_of(record: ConsumerRecord) -> str:
    """The identity of an input, which its outputs carry as ``ce_causationid`` (R-007)."""
    return Input.of(record).provenance.identity


def _note_decision(earlier: PreviousDecisions, record: ConsumerRecord, source: str) -> None:
    headers = {name: value for name, value in record.headers if value is not None}
    causation = headers.get("ce_causationid")
    if causation is None or record.value is None or headers.get("ce_source", b"").decode("utf-8", "replace") != source:
        return
    decision: Any = {}
    if earlier.wanted.values:
        try:
            decision = json.loads(record.value)
        except (ValueError, RecursionError):
            decision = {}
    earlier.decided(causation.decode("utf-8", "replace"), decision if isinstance(decision, dict) else {})


def _decisions_of(handler: Handler, by_tier: bool) -> Topic:
    """Where a handler's decisions stand: the first topic it emits that has a usual field, or a tier."""
    for topic in handler.emits:
        if "tier" in topic.event.model_fields if by_tier else topic.event in DECISION_FIELDS:
            return topic
    if by_tier:
        raise ReplayError(f"{handler.name} neither reads nor writes a tier: leave --tier out")
    raise ReplayError(f"{handler.name} writes no decisions to choose by: leave --outcome and --judged-by out")


def _values(part: Any, path: Sequence[str]) -> Iterator[str]:
    """What stands at a path, as text: of a list that of each item; null is ``null``, a truth ``true`` or ``false``."""
    if isinstance(part, list):
        for item in part:
            yield from _values(item, path)
    elif path:
        if isinstance(part, dict):
            yield from _values(part.get(path[0]), path[1:])
    else:
        yield part if isinstance(part, str) else json.dumps(part)


def _digest(identity: str) -> bytes:
    return blake2b(identity.encode("utf-8", "replace"), digest_size=16).digest()
