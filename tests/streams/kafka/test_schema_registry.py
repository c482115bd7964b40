"""Schemas are registered or looked up before the first record; every refusal says what to do."""

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from streams.generate.json_schemas import json_schemas
from streams.kafka.schema_registry import SchemaRegistryError, read_frames
from streams.kafka.settings import KafkaSettings
from streams.topology import PAGES_SCORED, RESULTS_CLASSIFIED, TOPICS
from streams.topology.codec import Frames
from streams.topology.event_schemas import schema_of, schema_text
from tests.schema_registry import SchemaRegistry, error, schema_registry
from tests.streams.doubles import VirtualClock

SUBJECT = "shop.pages.scored.v1-value"


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry() as running:
        yield running


def settings(url: str, **fields: Any) -> KafkaSettings:
    named = {f"schema_registry_{name}": value for name, value in fields.items()}
    return KafkaSettings.model_validate({"topic_prefix": "shop.", "schema_registry_url": url, **named})


async def frames(registry: SchemaRegistry, clock: VirtualClock | None = None, **fields: Any) -> Frames:
    section = settings(registry.url, **fields)
    return await read_frames(section, [PAGES_SCORED], schema_text, clock or VirtualClock(), lambda: 1.0)


async def refused(registry: SchemaRegistry, clock: VirtualClock | None = None, **fields: Any) -> str:
    with pytest.raises(SchemaRegistryError) as raised:
        await frames(registry, clock, **fields)
    return str(raised.value)


async def test_without_a_registry_values_are_plain() -> None:
    assert await read_frames(settings(""), TOPICS, schema_text, VirtualClock()) == {}


async def test_every_schema_is_registered_under_its_topic(registry: SchemaRegistry) -> None:
    registry.first_id = 2**31 - 1 - len(TOPICS)
    found = await read_frames(settings(registry.url), TOPICS, schema_text, VirtualClock())
    assert found.keys() == {topic.name for topic in TOPICS}
    for topic in TOPICS:
        magic, number = struct.unpack(">bi", found[topic.name])
        assert magic == 0
        assert registry.subjects[f"shop.{topic.name}-value"] == [number]
        assert registry.schemas[number] == schema_of(topic)


async def test_a_registered_schema_keeps_its_id(registry: SchemaRegistry) -> None:
    assert await frames(registry) == await frames(registry) == {PAGES_SCORED.name: b"\0\0\0\0\1"}
    assert registry.asked == [f"/subjects/{SUBJECT}/versions"] * 2


async def test_a_committed_schema_file_is_looked_up(registry: SchemaRegistry) -> None:
    for path, text in json_schemas().items():
        if path.name.startswith(PAGES_SCORED.name):
            number = registry.add(SUBJECT, json.loads(text))
    assert await frames(registry, auto_register=False) == {PAGES_SCORED.name: struct.pack(">bi", 0, number)}
    assert registry.asked == [f"/subjects/{SUBJECT}"]


async def test_an_unknown_schema_is_not_registered_unasked(registry: SchemaRegistry) -> None:
    absent = await refused(registry, auto_register=False)
    assert f"under {SUBJECT} (status 404: Subject '{SUBJECT}' not found.)" in absent
    assert "register schemas/json/pages.scored.v1.schema.json there, or set ASSAY_KAFKA__SCHEMA_REGISTRY_AUTO" in absent
    registry.add(SUBJECT, schema_of(RESULTS_CLASSIFIED))
    assert "(status 404: Schema not found)" in await refused(registry, auto_register=False)
    assert registry.subjects == {SUBJECT: [1]}


async def test_an_incompatible_schema_is_an_error(registry: SchemaRegistry) -> None:
    registry.incompatible.add(SUBJECT)
    said = await refused(registry)
    assert f"refuses the schema of pages.scored.v1 as incompatible with earlier versions of {SUBJECT}" in said
    assert "set the compatibility of the subject to NONE" in said


async def test_a_schema_that_the_registry_can_not_read(registry: SchemaRegistry) -> None:
    registry.answers = [error(422, 42201, "Invalid schema: unknown draft\n of " + 1000 * "x")]
    said = await refused(registry)
    assert "refuses the schema of pages.scored.v1 under shop.pages.scored.v1-value (status 422: Invalid schema" in said
    assert len(said) < 800


ME: dict[str, Any] = {"username": "me", "password": "hunter2"}


async def test_the_user_and_the_password_are_sent(registry: SchemaRegistry) -> None:
    registry.user = ("me", "hunter2")
    assert await frames(registry, **ME)
    assert "refuses a client without a user on" in await refused(registry)
    wrong = await refused(registry, **ME | {"password": "hunter3"})
    assert "refuses the user 'me' on shop.pages.scored.v1-value (status 401: Unauthorized); see ASSAY_KAFKA__" in wrong
    assert "hunter" not in wrong


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((404, {}, {}), "has no /subjects, so it is not the address of a schema registry"),
        ((200, {"id": "7"}, {}), "answers without a schema id"),
        ((200, {"id": -1}, {}), "answers without a schema id"),
        ((301, {}, {"location": "/elsewhere"}), "(status 301); see its log"),
    ],
)
async def test_another_server_is_recognized(
    registry: SchemaRegistry, answer: tuple[int, dict[str, Any], dict[str, str]], says: str
) -> None:
    registry.answers = [answer]
    assert says in await refused(registry)


async def test_a_registry_that_is_not_ready_is_asked_again(registry: SchemaRegistry) -> None:
    clock = VirtualClock()
    registry.answers = [
        error(503, 50003, "not the leader"),
        error(500, 50001, "no store"),
        error(429, 429, "slow down", retry_after="7"),
        error(429, 429, "slow down", retry_after="0"),
    ]
    assert await frames(registry, clock) == {PAGES_SCORED.name: b"\0\0\0\0\1"}
    assert clock.pauses == [0.5, 1.0, 7.0, 4.0]


async def test_the_wait_for_a_registry_ends() -> None:
    clock, nowhere = VirtualClock(), SchemaRegistry("http://127.0.0.1:1")
    said = await refused(nowhere, clock, seconds=20)
    assert clock.pauses == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert "the schema registry at http://127.0.0.1:1 can't be reached (ConnectError: " in said
    assert "start it, see ASSAY_KAFKA__SCHEMA_REGISTRY_URL, or leave that empty to write plain JSON" in said
    assert "can't be reached" in await refused(nowhere, clock, seconds=0)
    assert len(clock.pauses) == 6


@pytest.mark.parametrize("url", ["https://registry.example:8081/apis/ccompat/v7/", " http://registry "])
def test_an_address_may_have_a_path(url: str) -> None:
    assert settings(url).schema_registry_url == url.strip().rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "registry:8081",
        "file:///registry",
        "http://",
        "http://registry:0",
        "http://registry:x",
        "https://me:hunter2@registry",
        "https://registry?x=1",
        "https://one,https://two /",
    ],
)
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        settings(url)


def test_the_password_is_not_shown() -> None:
    assert "hunter2" not in repr(settings("http://registry", **ME))
