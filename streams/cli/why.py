"""``assay why``: every decision about a page, a batch, a request or a claim, the newest first."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from handlers.html.links import canonical_url
from handlers.indexing.points import document_id_of, places_to_read
from schemas.event import Event
from schemas.extraction import ExtractionNeeded
from schemas.llm import CallOutcome
from streams.cli.command import AsJson, CommandError, Config, load_settings, run_with_kafka
from streams.cli.output import say, say_json, show, tell
from streams.cli.progress import ProgressLine
from streams.dlq.selection import moment
from streams.index.ports import IndexDownError, IndexSettingsError
from streams.llm.journal import JournalError
from streams.llm.reports import stored_reply
from streams.llm.settings import LlmSettings
from streams.runtime.terminal import printable
from streams.settings.model import Settings
from streams.views.words import WEB, Decision, decision_in, keys_of, reasons_of, verdict_of

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

_SHOWN = 160  # characters of a line


def why(
    subject: Annotated[str, Argument(metavar="URL|ID", help="An address; or the id of a batch, request, claim.")],
    reply: Annotated[bool, Option("--reply", help="Show a whole reply of a model; ID is the `call_id`.")] = False,
    since: Annotated[str, Option(help="Not before: 2026-11-21, or 90m, 7d ago.")] = "30d",
    most: Annotated[int, Option("--limit", min=1, help="Decisions that are shown.")] = 20,
    everywhere: Annotated[
        bool, Option("--all-partitions", help="Also where another producer may have put the key.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """The newest first. Such as: `assay why https://example.org/report --since 7d`."""
    begin = moment("--since", since, datetime.now(UTC))
    settings = load_settings(config)
    if reply:
        return show_reply(settings.llm, subject, as_json=as_json)
    settings = settings.with_kafka()

    async def work() -> int:
        from aiokafka.errors import KafkaConnectionError

        try:
            found = await _decisions(settings, subject, begin, most, everywhere=everywhere, quiet=as_json)
        except KafkaConnectionError:
            if not subject.startswith(WEB):
                raise
            tell("why", f"no Kafka at {settings.kafka.bootstrap_servers}; the index has this of the page:")
            return await _from_index(settings, subject, as_json=as_json)
        replies = await _replies(settings, found)
        for record, decision in found:
            _show(record, decision, replies, as_json=as_json)
        if found:
            return 0
        where = "" if everywhere else "; --all-partitions looks in every partition"
        day = "the beginning" if begin is None else f"{begin:%Y-%m-%d %H:%M} UTC"
        return tell("why", f"no record of {printable(subject, _SHOWN)} since {day}{where}", 1)

    return run_with_kafka("why", settings, work())


async def _decisions(
    settings: Settings, subject: str, begin: datetime | None, most: int, *, everywhere: bool, quiet: bool
) -> list[tuple[ConsumerRecord, Decision]]:
    from streams.kafka.lookups import read_newest_first

    kafka, found = settings.kafka, list["tuple[ConsumerRecord, Decision]"]()
    with ProgressLine("why", "reading", unit="offsets", quiet=quiet) as line:
        progress = partial(line.set, "reading")
        steps = read_newest_first(kafka, keys_of(subject), begin, every_partition=everywhere, progress=progress)
        async for records in steps:
            for record in records:
                decision = decision_in(record, kafka.topic_prefix)
                # The key of an extraction is its domain.
                if isinstance(decision, ExtractionNeeded) and subject.startswith(WEB):
                    if canonical_url(decision.target_url) == canonical_url(subject):
                        found.append((record, decision))
                elif decision is not None:
                    found.append((record, decision))
            if len(found) >= most:
                break
    return sorted(found, key=lambda pair: pair[0].timestamp, reverse=True)[:most]


async def _replies(settings: Settings, found: Iterable[tuple[Any, Any]]) -> Mapping[str, str]:
    calls = {call.call_id for _, decision in found if (call := getattr(decision, "llm", None)) and call.call_id}
    replies = {}
    for call_id in sorted(calls):
        try:
            replies[call_id] = (await stored_reply(settings.llm, call_id)).text
        except JournalError as error:
            replies[call_id] = f"not available: {error}"
    return replies


def _show(record: ConsumerRecord, decision: Decision, replies: Mapping[str, str], *, as_json: bool) -> None:
    at = datetime.fromtimestamp(record.timestamp / 1000, UTC)
    call = getattr(decision, "llm", None)
    reply = replies.get(call.call_id or "") if call else None
    source = (dict(record.headers).get("ce_source") or b"").decode("utf-8", "replace").removeprefix("assay/")
    verdict, reasons = verdict_of(decision), reasons_of(decision)
    if as_json:
        place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
        value = decision.to_wire() if isinstance(decision, Event) else None
        decided = {"at": at.isoformat(), "by": source or None, "verdict": verdict, "reasons": reasons, "reply": reply}
        say_json(place | decided | {"event": value})
        return
    lines = [f"    {printable(reason, _SHOWN)}" for reason in reasons]
    if call is not None:
        lines.append(f"    judged by {'the offline judge' if call.judged_by == 'offline' else call.model}")
    if reply:
        lines.append(f"    reply: {printable(' '.join(reply.split()), _SHOWN)}")
    say(f"{at:%Y-%m-%d %H:%M:%S}  {source or record.topic}: {printable(verdict, _SHOWN)}", *lines)


async def _from_index(settings: Settings, subject: str, *, as_json: bool) -> int:
    from streams.index.embedders import make_embedder
    from streams.index.qdrant import QdrantStore

    embedder = make_embedder(settings.index.embedder)
    store = QdrantStore(settings.index, embedder.name, embedder.dimensions)
    try:
        await store.open(make=False)
        spellings = {url for url in (subject, canonical_url(subject)) if url}
        ids = [place for url in spellings for place in places_to_read(document_id_of(url))]
        points = await store.read(ids)
    except (IndexSettingsError, IndexDownError) as error:
        raise CommandError(f"the index can't be read: {error}") from None
    finally:
        await store.aclose()
    if not points:
        raise CommandError("the index has no point of this page")
    payload = next(iter(points.values()))
    shown = {name: payload[name] for name in sorted(payload) if isinstance(payload[name], str | int | float | bool)}
    return show(as_json, shown, *(f"{name}: {printable(str(value), _SHOWN)}" for name, value in shown.items()))


def show_reply(llm: LlmSettings, call_id: str, *, as_json: bool) -> int:
    found = asyncio.run(stored_reply(llm, call_id))
    lines = [] if found.outcome is CallOutcome.OK else [f"outcome: {found.outcome}"]
    lines += found.text.split("\n") if found.text else []
    lines += [f"{call.name} {call.arguments}" for call in found.tool_calls]
    return show(as_json, {"call_id": call_id, **found.to_wire()}, *lines)
