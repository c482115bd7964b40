"""The form every event shares: a frozen model, its envelope headers, and ids that a replay reproduces.

An event's value is the JSON of a frozen pydantic model. Its envelope travels in Kafka headers, in the binary mode of
CloudEvents 1.0, as UTF-8 text; the value has the event's id too, for readers that drop headers. Readers ignore fields
they don't know. An output's id is derived from its input, so the same input under the same rules always gives the same
id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha1
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticUseDefault, to_json

from schemas.addresses import MAX_URL, without_user
from schemas.instants import read_instant, why_too_late

RUN_HEADER = "assay_run"
"""Names the replay or backfill that wrote a record; live records do not have it."""
_RUN_BEGAN = "assay_run_began"
NAMESPACE = UUID("6f0a2c64-3a3b-5d0e-9c58-1b7f4f1f8a11")
"""The uuid5 namespace of every id that Assay derives. Changing it changes every id: never do."""


def _no_nul(value: str) -> str:
    if "\x00" in value:
        raise ValueError("text holds a NUL character")
    return value


_MAX_ID = 512


def _id_or_null(value: Any) -> str | None:
    """Another producer may use the name for something else, which is no reason to refuse its event."""
    return value if isinstance(value, str) and len(value) <= _MAX_ID and "\x00" not in value else None


TYPE_PREFIX = "org.assay."
"""Begins the CloudEvents type of each event; the logical topic with its version follows."""
SCHEMA_URI_PREFIX = "urn:assay:"
"""Begins the ``$id`` of each JSON Schema; the logical topic follows."""
_SPECVERSION = ("ce_specversion", b"1.0")
_MAX_NOTE = 1024
"""Bytes of an envelope header; a longer one is ignored, because every output carries the ids on."""
_READ = frozenset(("x-root-id", "ce_id", "ce_correlationid", "traceparent", RUN_HEADER, _RUN_BEGAN))
"""The headers that ``Provenance`` reads."""

T = TypeVar("T")
MAX_ITEMS = 10_000
Many = Annotated[tuple[T, ...], Field(max_length=MAX_ITEMS, fail_fast=True)]
"""A list of an input event. It is bounded, and validation stops at the first invalid item: the errors of a million
items, or a million empty objects, would take more memory than a worker has."""

Score = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
"""A score in [0, 1]."""

Text = Annotated[str, AfterValidator(_no_nul)]
"""Text without NUL characters, which Kafka tools and stores treat differently."""


Url = Annotated[str, Field(min_length=1, max_length=MAX_URL), AfterValidator(_no_nul), AfterValidator(without_user)]
"""An address as it was given, but for a user and password: not every one of a crawler is valid."""

TextOrUrl = Annotated[Text, AfterValidator(without_user)]
"""A text that may be an address, of any length."""

AnyUrl = Annotated[str, Field(max_length=MAX_URL), AfterValidator(without_user)]
"""An address of an output, or "" where the input has none."""


def _missing_if_too_long(value: Any) -> Any:
    return "" if isinstance(value, str) and len(value) > MAX_URL else value


LenientUrl = Annotated[AnyUrl, BeforeValidator(_missing_if_too_long)]
"""An address that may be missing; one that is too long is read as missing."""


def _both_styles(written: str, other: str) -> AliasChoices | str:
    return written if written == other else AliasChoices(written, other)


class Part(BaseModel):
    """A frozen object of an event. Unknown fields are ignored on input, required ones are enforced (R-010).

    Each field is read in snake_case and in camelCase, and written in the style of its event. Null means the same as an
    absent field, and is what an unknown value is written as.
    """

    # Built when it is first read or written: a process imports all event types and uses about two.
    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        defer_build=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: _both_styles(name, to_camel(name))),
        populate_by_name=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any, info: ValidationInfo) -> Any:
        if value is None and info.field_name and not cls.model_fields[info.field_name].is_required():
            raise PydanticUseDefault
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema; a reader accepts null for each field that may be absent."""
        schema = handler(core_schema)
        if handler.mode == "validation":
            own = handler.resolve_ref_schema(schema)
            for name, field in own.get("properties", {}).items():
                if name not in own.get("required", ()):
                    own["properties"][name] = _or_null(field)
        return schema

    def to_json(self) -> bytes:
        """The value as it travels: UTF-8 JSON under the wire names."""
        return self.model_dump_json(by_alias=True).encode()

    def to_wire(self) -> dict[str, Any]:
        """The value as plain JSON types under the wire names."""
        return self.model_dump(mode="json", by_alias=True)


class CamelPart(Part):
    """An object of an event whose wire names are camelCase, as its source document gives them (C-01)."""

    model_config = ConfigDict(
        alias_generator=AliasGenerator(
            validation_alias=lambda name: _both_styles(to_camel(name), name), serialization_alias=to_camel
        )
    )


class Event(Part):
    """The value of a topic's records.

    Attributes:
        event_id: The ``ce_id`` of its record, which Assay writes into each of its events; null in events of others.
            What is not an id is read as null.
    """

    time_field: ClassVar[str] = ""
    """The optional field that gets the timestamp of the record if it is missing."""

    event_id: Annotated[str | None, BeforeValidator(_id_or_null)] = Field(default=None, max_length=_MAX_ID)

    def to_json_as(self, event_id: str) -> bytes:
        """The value with its id, which is the first field: to replace its null takes less time than to copy all."""
        if self.event_id is not None:
            return self.model_copy(update={"event_id": event_id}).to_json()
        before, _, after = self.to_json().partition(b"null")
        return before + to_json(event_id) + after

    def why_too_late(self, now: datetime | None) -> str:
        """Why its time cannot have been stated in a record of that time; "" if it can."""
        why = why_too_late(getattr(self, self.time_field), now) if self.time_field else ""
        return why and f"{self.time_field}: {why}"

    def arrived(self, produced_at: datetime | None) -> Self:
        """The event as read from a record of that time (UTC): an absent time is filled in."""
        if not self.time_field:
            return self
        if getattr(self, self.time_field) is not None:
            return self
        return self.model_copy(update={self.time_field: produced_at})


class CamelEvent(Event, CamelPart):
    """The value of a topic's records, with wire names in camelCase."""


def _or_null(schema: JsonSchemaValue) -> JsonSchemaValue:
    choices = schema.get("anyOf", [schema])
    if {"type": "null"} in choices:
        return schema
    beside = {key: value for key, value in schema.items() if key in ("default", "title")}
    rest = {key: value for key, value in schema.items() if key not in beside}
    return {"anyOf": [*(choices if "anyOf" in schema else [rest]), {"type": "null"}], **beside}


def derive_id(*parts: object) -> str:
    """A uuid5 of the parts in order, as text. Equal parts give an equal id; part boundaries count.

    >>> derive_id("a", "bc") == derive_id("a", "bc")
    True
    >>> derive_id("a", "bc") == derive_id("ab", "c")
    False
    """
    return _uuid5(sha1(NAMESPACE.bytes + _joined(parts), usedforsecurity=False))


class OutputIds:
    """The ``ce_id`` of a handler's outputs (R-007): the same input and rules give the same id.

    The shared parts are hashed once. ``of`` equals ``derive_id("output", …)`` of all parts.
    """

    def __init__(self, handler: str, version: int, config_version: str) -> None:
        """Takes the parts that all ids of one handler share.

        Args:
            handler: Name of the handler.
            version: The handler's version, raised when its decisions change.
            config_version: Hash of the rules that the decision used.
        """
        self._begun = sha1(
            NAMESPACE.bytes + _joined(("output", handler, version, config_version)), usedforsecurity=False
        )

    def of(self, input_identity: str, ordinal: int) -> str:
        """The id of an input's n-th output.

        Args:
            input_identity: The input's ``ce_id``, else ``topic/partition/offset``.
            ordinal: Position of the output among those of the input, from 0.
        """
        digest = self._begun.copy()
        place = str(ordinal)
        digest.update(f"{len(input_identity)}:{input_identity};{len(place)}:{place};".encode())
        return _uuid5(digest)


def _joined(parts: Iterable[object]) -> bytes:
    return "".join([f"{len(text)}:{text};" for text in map(str, parts)]).encode()


def _uuid5(digest: Any) -> str:
    """The text of a version 5 UUID over a SHA-1; three times as fast as the standard library."""
    bits = bytearray(digest.digest()[:16])
    bits[6] = bits[6] & 0x0F | 0x50
    bits[8] = bits[8] & 0x3F | 0x80
    text = bits.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Run(NamedTuple):
    """What writes records again: a replay, a backfill, or dead letters that are sent again.

    Attributes:
        name: Its id.
        began: When it began, which orders the versions of a page in the index; None for a run of an older version.
    """

    name: str
    began: datetime | None = None

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self | None:
        """The run that the headers of a record name; None for live traffic."""
        if RUN_HEADER not in texts:
            return None
        try:
            return cls(texts[RUN_HEADER], read_instant(texts.get(_RUN_BEGAN)))
        except ValueError:
            return cls(texts[RUN_HEADER])

    def headers(self) -> list[tuple[str, bytes]]:
        """The headers of a record of this run."""
        began = [] if self.began is None else [(_RUN_BEGAN, self.began.isoformat().encode())]
        return [(RUN_HEADER, self.name.encode()), *began]

    def marked(self, headers: Iterable[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
        """The headers of a record with this run, in place of the run that wrote it."""
        return [*(pair for pair in headers if pair[0] not in (RUN_HEADER, _RUN_BEGAN)), *self.headers()]


class Envelope(NamedTuple):
    """The CloudEvents attributes of one event, as in its headers.

    Attributes:
        id: Identity of the event; a consumer may dedupe by (source, id).
        source: The component that wrote it, such as ``assay/score_page``.
        time: When it was written, UTC.
        correlation_id: Identity of the first event of the chain.
        causation_id: Identity of the event that caused this one.
        traceparent: W3C trace context, passed through.
        run: The replay or backfill that wrote it; None for live traffic (R-009).
    """

    id: str
    source: str
    time: datetime
    correlation_id: str
    causation_id: str | None = None
    traceparent: str | None = None
    run: Run | None = None

    def headers(self, topic: str, subject: str, content_type: str = "application/json") -> list[tuple[str, bytes]]:
        """The envelope as Kafka headers, UTF-8 text each; absent attributes are left out.

        Args:
            topic: The logical topic, such as ``pages.scored.v1``; type and schema derive from it.
            subject: The key of the record, cut to 1,024 characters.
            content_type: Media type of the value.
        """
        time = self.time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        headers = [
            _SPECVERSION,
            ("ce_id", self.id.encode()),
            ("ce_type", (TYPE_PREFIX + topic).encode()),
            ("ce_source", self.source.encode()),
            ("ce_subject", subject[:_MAX_NOTE].encode("utf-8", "replace")),
            ("ce_dataschema", (SCHEMA_URI_PREFIX + topic).encode()),
            ("ce_time", time.encode()),
            ("ce_correlationid", self.correlation_id.encode()),
        ]
        if self.causation_id is not None:
            headers.append(("ce_causationid", self.causation_id.encode()))
        if self.traceparent is not None:
            headers.append(("traceparent", self.traceparent.encode()))
        if self.run is not None:
            headers += self.run.headers()
        headers.append(("content-type", content_type.encode()))
        return headers


class Provenance(NamedTuple):
    """What can be read from an input's headers. Records of other producers may have no such headers."""

    identity: str
    correlation_id: str
    traceparent: str | None = None
    run: Run | None = None

    @classmethod
    def of(cls, headers: Sequence[tuple[str, bytes | None]], fallback_identity: str) -> Self:
        """Reads the envelope of a raw record; never raises.

        Args:
            headers: Raw Kafka headers; values may be None or not UTF-8.
            fallback_identity: ``topic/partition/offset``, used where there is no ``ce_id``.
        """
        if not headers:
            return cls(fallback_identity, fallback_identity)
        texts = {
            name: value.decode("utf-8", "replace")
            for name, value in headers
            if name in _READ and value and len(value) <= _MAX_NOTE
        }
        identity = texts.get("x-root-id") or texts.get("ce_id") or fallback_identity
        return cls(
            identity=identity,
            correlation_id=texts.get("ce_correlationid") or identity,
            traceparent=texts.get("traceparent"),
            run=Run.of(texts),
        )
