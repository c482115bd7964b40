"""The pipeline as shipped, in its own process and its children. Mode: ``exactly_once`` or ``at_least_once``."""

import asyncio
from collections import Counter
from typing import Any

from aiokafka import AIOKafkaConsumer

from streams.app.application import Application
from streams.runtime.process import freeze_gc
from streams.settings.model import Settings, load_settings
from streams.telemetry.setup import configure_logs
from streams.topology import HANDLERS, Handler, Topic
from tools.bench.child import Meter, Task
from tools.bench.work import NOTES, SEEN, NoRules, Note, Seen, see

NOTES_TOPIC = Topic(
    name=NOTES, event=Note, keyed_by="note_id", key_of=lambda note: str(note.note_id), meaning="Small messages."
)
SEEN_TOPIC = Topic(
    name=SEEN, event=Seen, keyed_by="note_id", key_of=lambda seen: str(seen.note_id), meaning="What came of them."
)
SEES = Handler(name="see", fn=see, consumes=NOTES_TOPIC, emits=(SEEN_TOPIC,), rules=NoRules, lane="cpu", slo_seconds=60)
LOOK_SECONDS = 0.01
RUN_SECONDS = 1800


def settings_for(bootstrap: str, prefix: str, **sections: Any) -> Settings:
    kafka = {"bootstrap_servers": bootstrap, "topic_prefix": prefix}
    return load_settings(kafka=kafka, http={"enabled": False}, **sections)


def handler_of(source: str) -> Handler:
    return SEES if source == NOTES else HANDLERS[0]


async def drain(task: Task, meter: Meter) -> None:
    """Runs the handler until all records are committed."""
    workers = {"processes": task.children}
    settings = settings_for(task.bootstrap, task.prefix, delivery=task.mode, workers=workers)
    application = Application(settings, [handler_of(task.source)])
    _begin_with_the_first_record(meter)
    await application.start()
    freeze_gc()  # as ``assay run`` does
    async with asyncio.timeout(RUN_SECONDS):
        while not _is_done(application, task.records):  # noqa: ASYNC110 - the metrics have no event
            await asyncio.sleep(LOOK_SECONDS)
    outcomes = _outcomes(application)
    meter.seen = outcomes.total()
    meter.tell(**outcomes)
    await application.stop()


def _begin_with_the_first_record(meter: Meter) -> None:
    poll = AIOKafkaConsumer.getmany

    async def getmany(consumer: AIOKafkaConsumer, *values: Any, **options: Any) -> Any:
        polled = await poll(consumer, *values, **options)
        if any(polled.values()):
            AIOKafkaConsumer.getmany = poll
            meter.begin()
        return polled

    AIOKafkaConsumer.getmany = getmany


def _is_done(application: Application, records: int) -> bool:
    settled = all(group.settled for group in application.groups)
    return settled and _outcomes(application).total() >= records


def _outcomes(application: Application) -> Counter[str]:
    """How many records had which outcome, from the metrics."""
    found = Counter[str]()
    for metric in application.metrics.handler_events_total.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                found[sample.labels["outcome"]] += int(sample.value)
    return found


if __name__ == "__main__":
    configure_logs("warning", "console")
    given = Task.given()
    asyncio.run(drain(given, Meter(given.broker)))
