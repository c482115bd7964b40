"""Registers the JSON Schemas of topics at a schema registry, and returns the frames of their values.

The interface is the REST API of Confluent's Schema Registry; Apicurio, Karapace and Redpanda offer the same. Assay uses
two of its requests: it registers a schema, or it looks up the id of a registered one.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import structlog

from streams.kafka.settings import KafkaSettings
from streams.runtime.backoff import Chance, full_jitter, retry_after
from streams.runtime.clock import Clock
from streams.topology import Topic
from streams.topology.codec import NO_FRAMES, Frames

if TYPE_CHECKING:
    import httpx

log = structlog.get_logger(__name__)

_REQUEST_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 5.0
_SHOWN_CHARACTERS = 500
"""Characters of the registry's own message in an error."""
_LARGEST_ID = 2**31 - 1
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistryError(Exception):
    """A schema has no id; the message says what to do."""


class MissingSchemaError(SchemaRegistryError):
    """The registry answers and does not have the schema."""


class _TryAgainError(Exception):
    """The registry can't answer now; with the seconds that it asks to wait, if it says so."""

    def __init__(self, why: str, after_seconds: float | None = None) -> None:
        super().__init__(why)
        self.after_seconds = after_seconds


async def read_frames(
    settings: KafkaSettings,
    topics: Iterable[Topic],
    schema: Callable[[Topic], str],
    clock: Clock,
    chance: Chance = random.random,
) -> Frames:
    """The frame of each topic; empty if no registry is configured.

    Waits for a registry that can't be reached, for ``schema_registry_seconds`` at most.

    Args:
        settings: The registry and the topic prefix.
        topics: Topics that are written.
        schema: Gives the JSON Schema of a topic.
        clock: Time.
        chance: The random numbers of the pauses.

    Raises:
        MissingSchemaError: The registry does not have a schema that it only looks up.
        SchemaRegistryError: The registry refuses a schema, or it can't be reached.
    """
    if not settings.schema_registry_url:
        return NO_FRAMES
    import httpx  # few commands need it, and its import takes long

    password = settings.schema_registry_password.get_secret_value()
    async with httpx.AsyncClient(
        auth=(settings.schema_registry_username, password) if settings.schema_registry_username else None,
        headers={"accept": f"{_CONTENT_TYPE}, application/json", "content-type": _CONTENT_TYPE},
        timeout=_REQUEST_SECONDS,
    ) as client:

        async def post(path: str, body: dict[str, str]) -> httpx.Response:
            try:
                return await client.post(f"{settings.schema_registry_url}{path}", json=body)
            except httpx.RequestError as error:
                raise _TryAgainError(f"{type(error).__name__}: {error}"[:_SHOWN_CHARACTERS]) from error

        registry = _Registry(settings, post, clock, chance)
        return {topic.name: struct.pack(">BI", 0, await registry.id_of(topic.name, schema(topic))) for topic in topics}


_Post = Callable[[str, dict[str, str]], Awaitable["httpx.Response"]]
"""Sends a JSON body to a path of the registry. Raises _TryAgainError."""


class _Registry:
    """Asks for ids until the time for waiting is over."""

    def __init__(self, settings: KafkaSettings, post: _Post, clock: Clock, chance: Chance) -> None:
        self._settings = settings
        self._post = post
        self._clock = clock
        self._chance = chance
        self._until = clock.monotonic() + settings.schema_registry_seconds

    async def id_of(self, topic: str, schema: str) -> int:
        subject = f"{self._settings.topic_prefix}{topic}-value"
        attempt = 1
        while True:
            try:
                return await self._ask(subject, topic, schema)
            except _TryAgainError as error:
                # A registry that asks for no pause still gets one.
                pause = full_jitter(attempt, _FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS, self._chance)
                pause = max(pause, error.after_seconds or 0.0)
                if self._clock.monotonic() + pause > self._until:
                    raise SchemaRegistryError(
                        f"{self._where} can't be reached ({error}); start it, see ASSAY_KAFKA__SCHEMA_REGISTRY_URL, or "
                        "leave that empty to write plain JSON"
                    ) from error
                log.warning("the schema registry can't be reached; trying again", error=str(error), seconds=pause)
                await self._clock.sleep(pause)
                attempt += 1

    async def _ask(self, subject: str, topic: str, schema: str) -> int:
        path = f"/subjects/{quote(subject, safe='')}"
        if self._settings.schema_registry_auto_register:
            path += "/versions"
        reply = await self._post(path, {"schema": schema, "schemaType": "JSON"})
        if reply.status_code == HTTPStatus.TOO_MANY_REQUESTS or reply.is_server_error:
            raise _TryAgainError(_message(reply), retry_after(reply.headers, self._clock.now()))
        if not reply.is_success:
            is_missing = reply.status_code == HTTPStatus.NOT_FOUND and "error_code" in _document(reply)
            kind = MissingSchemaError if is_missing else SchemaRegistryError
            raise kind(self._refused(reply, subject, topic))
        found = _document(reply).get("id")
        if type(found) is not int or not 0 <= found <= _LARGEST_ID:
            raise SchemaRegistryError(f"{self._where} answers without a schema id; see {_URL}")
        return found

    @property
    def _where(self) -> str:
        return f"the schema registry at {self._settings.schema_registry_url}"

    def _refused(self, reply: httpx.Response, subject: str, topic: str) -> str:
        """Why there is no id, and what to do."""
        message = _message(reply)
        match reply.status_code:
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                user = self._settings.schema_registry_username
                who = f"the user {user!r}" if user else "a client without a user"
                return f"{self._where} refuses {who} on {subject} ({message}); see {_USER}"
            case HTTPStatus.CONFLICT:
                return (
                    f"{self._where} refuses the schema of {topic} as incompatible with earlier versions of {subject} "
                    f"({message}); set the compatibility of the subject to NONE (docs/schemas.md says why)"
                )
            case HTTPStatus.NOT_FOUND if "error_code" in _document(reply):
                return (
                    f"{self._where} does not have the schema of {topic} under {subject} ({message}); register "
                    f"schemas/json/{topic}.schema.json there, or set {_AUTO_REGISTER}=true"
                )
            case HTTPStatus.NOT_FOUND:
                return f"{self._where} has no /subjects, so it is not the address of a schema registry; see {_URL}"
        return f"{self._where} refuses the schema of {topic} under {subject} ({message}); see its log"


_URL = "ASSAY_KAFKA__SCHEMA_REGISTRY_URL"
_USER = "ASSAY_KAFKA__SCHEMA_REGISTRY_USERNAME and ASSAY_KAFKA__SCHEMA_REGISTRY_PASSWORD"
_AUTO_REGISTER = "ASSAY_KAFKA__SCHEMA_REGISTRY_AUTO_REGISTER"


def _message(reply: httpx.Response) -> str:
    """The status, and the registry's own words if it has any."""
    said = "".join(sign for sign in str(_document(reply).get("message", "")) if sign.isprintable())
    return f"status {reply.status_code}{': ' if said else ''}{said[:_SHOWN_CHARACTERS]}"


def _document(reply: httpx.Response) -> dict[str, Any]:
    try:
        document = reply.json()
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
