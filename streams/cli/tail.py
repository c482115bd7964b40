"""``assay tail``: prints the decisions and other committed records of a topic in words or, with ``--json``, whole."""

from __future__ import annotations

import contextlib
import json
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Argument, Option

from schemas.dead import REDRIVEN_OF, DeadLetter, is_marker
from schemas.outcome import Dead
from streams.cli.command import AsJson, CommandError, Config, load_settings, run_with_kafka
from streams.cli.output import say_json
from streams.kafka.settings import KafkaSettings
from streams.runtime.terminal import dumped, printable
from streams.topology import TOPICS, topic_named
from streams.topology.codec import RAW_PAGE_TYPES, timestamp
from streams.views.screen import Screen
from streams.views.words import decision_in, reasons_of, verdict_of

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord, TopicPartition

_SHOWN_KEY = 80
_SHOWN_CHARACTERS = 200


def tail(
    topic: Annotated[str, Argument(help="A topic, also a dead letter topic.")],
    start: Annotated[str, Option("--from", help="earliest, latest, or an offset.")] = "latest",
    most: Annotated[int | None, Option("--limit", min=1, help="Stop after so many records.")] = None,
    follow: Annotated[bool, Option(help="Wait for new records at the end.")] = True,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    check_start(start)
    settings = load_settings(config).with_kafka()

    async def work() -> int:
        from streams.kafka import log_reader

        name = (await partitions_of(topic, settings.kafka))[0].topic
        console, prefix = Screen(soft_wrap=True), settings.kafka.topic_prefix
        lists = log_reader.follow(settings.kafka, [name], start, to_end=not follow)
        async with contextlib.aclosing(taken(lists, most, by_time=True)) as records:
            async for record in records:
                say_json(as_json_line(record)) if as_json else console.print(as_line(record, prefix))
        return 0

    return run_with_kafka("tail", settings, work())


def check_start(text: str) -> None:
    if not (text in ("earliest", "latest") or text.isdecimal()):
        raise CommandError(f"--from takes earliest, latest or an offset, not {text!r}", 2)


async def taken(
    lists: AsyncGenerator[list[ConsumerRecord], None], most: int | None, *, by_time: bool = False
) -> AsyncGenerator[ConsumerRecord, None]:
    """The records of these lists, ``most`` of them at most; with ``by_time`` a list is sorted by time."""
    left = most
    async with contextlib.aclosing(lists):
        async for records in lists:
            for record in (sorted(records, key=lambda record: record.timestamp) if by_time else records)[:left]:
                yield record
            left = left and max(0, left - len(records))
            if left == 0:
                return


def no_topic(topic: str, kafka: KafkaSettings) -> CommandError:
    near = get_close_matches(topic, [known.name for known in TOPICS])
    todo = "`assay topics create` creates it" if topic_named(topic) else "`assay topics list` lists the topics"
    if near and not topic_named(topic):
        todo = f"did you mean {' or '.join(near)}? {todo}"
    return CommandError(f"there is no topic {kafka.topic_prefix}{topic} on the cluster; {todo}", 2)


async def partitions_of(topic: str, kafka: KafkaSettings) -> list[TopicPartition]:
    """The partitions of a topic, named with or without the prefix. Raises CommandError."""
    from streams.kafka.log_reader import existing_partitions

    found = await existing_partitions(kafka, (kafka.topic_prefix + topic, topic))
    prefixed = [at for at in found if at.topic == kafka.topic_prefix + topic]
    if not found:
        raise no_topic(topic, kafka)
    return prefixed or found


def as_json_line(record: ConsumerRecord) -> bytes:
    """A record as JSON; a value that is not JSON becomes its size, and binary headers become base64."""
    produced = timestamp(record.timestamp)
    shown = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": produced.isoformat() if produced else None,
        "key": None if record.key is None else record.key.decode("utf-8", "replace"),
        "headers": {name: _header(value) for name, value in record.headers},
    }
    return f'{dumped(shown)[:-1]}, "value": {_value(record.value, record.headers)}}}'.encode()


def as_line(record: ConsumerRecord, topic_prefix: str = "") -> Text:
    """A record as one line: the decision in words, the error of a dead letter, or the value's beginning."""
    key = "" if record.key is None else record.key.decode("utf-8", "replace")
    decision, headers = decision_in(record, topic_prefix), dict(record.headers)
    is_trouble = isinstance(decision, DeadLetter | Dead)
    if is_marker(record.headers):
        text, is_trouble = (
            f"{record.partition}/{(headers[REDRIVEN_OF] or b'').decode('utf-8', 'replace')} sent again",
            False,
        )
    elif decision is None:
        text = _value(record.value, record.headers)
    else:
        text = ": ".join([verdict_of(decision), *(reasons_of(decision)[:1] if is_trouble else [])])
    return Text.assemble(
        (f"{record.partition}/{record.offset}", "dim"),
        " ",
        (printable(key, _SHOWN_KEY), "bold"),
        " ",
        (printable(text, _SHOWN_CHARACTERS), "red" if is_trouble else ""),
    )


def _header(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(value or b"").decode()}


def _value(value: bytes | None, headers: Sequence[tuple[str, bytes | None]]) -> str:
    """A value as JSON text, or its size if it is not JSON or nested too deep."""
    if value is None:
        return "null"
    type_ = next((text.decode("utf-8", "replace") for name, text in headers if name == "content-type" and text), None)
    if type_ is None or not type_.lower().startswith(RAW_PAGE_TYPES):
        with contextlib.suppress(ValueError, RecursionError):
            return dumped(json.loads(value, parse_constant=_refuse))
    return dumped({"bytes": len(value), "content_type": type_})


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
