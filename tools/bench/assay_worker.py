"""The pipeline as shipped, in its own process. Mode: ``exactly_once`` or ``at_least_once``."""

from __future__ import annotations

import asyncio
import cProfile
import sys
import time
from dataclasses import replace

from streams.app import Application
from streams.process import freeze_gc
from streams.settings import Settings, load_settings
from streams.telemetry.setup import configure_logs
from streams.topology import HANDLERS, Handler, Topic
from tests.kafka.installation import until
from tools.bench import stages
from tools.bench.child import Meter, Task
from tools.bench.events import NOTES, SEEN, NoRules, Note, Seen, see

NOTES_TOPIC = Topic(
    name=NOTES, event=Note, key=lambda note: str(note.note_id), key_means="note_id", meaning="Small messages."
)
SEEN_TOPIC = Topic(
    name=SEEN, event=Seen, key=lambda seen: str(seen.note_id), key_means="note_id", meaning="What came of them."
)
SEES = Handler(name="see", fn=see, consumes=NOTES_TOPIC, emits=(SEEN_TOPIC,), rules=NoRules, lane="cpu", slo_seconds=60)


def settings_for(bootstrap: str, prefix: str, delivery: str = "exactly_once") -> Settings:
    """The shipped settings on a given Kafka, without HTTP."""
    kafka = {"bootstrap_servers": bootstrap, "topic_prefix": prefix}
    return load_settings(kafka=kafka, http={"enabled": False}, delivery=delivery)


def handler_of(source: str) -> Handler:
    """The handler that reads a topic."""
    return SEES if source == NOTES else HANDLERS[0]


async def drain(task: Task, meter: Meter) -> None:
    """Runs the handler until all records are committed."""
    handler = handler_of(task.source)
    metered = replace(handler, fn=meter.metered(handler.fn))
    application = Application(settings_for(task.bootstrap, task.prefix, task.mode), [metered])
    await application.start()
    freeze_gc()  # as ``assay run`` does
    await until(lambda: meter.seen >= task.records and all(group.settled for group in application.groups), seconds=1800)
    meter.report(**_checked(application, task)).tell()
    await application.stop()


def _checked(application: Application, task: Task) -> dict[str, float]:
    """The outcomes of the records, from the metrics."""
    found: dict[str, float] = {}
    for metric in application.metrics.handler_events_total.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total"):
                outcome = sample.labels["outcome"]
                found[outcome] = found.get(outcome, 0) + sample.value
    commits = sum(
        sample.value
        for metric in application.metrics.transactions_total.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )
    return found | {"commits": commits}


def main() -> int:
    """One run; with ``--profile`` as the first argument it ends with shares by stage instead."""
    task = Task.given()
    configure_logs("warning", "console")
    if sys.argv[1] != "--profile":
        asyncio.run(drain(task, Meter()))
        return 0
    profile = cProfile.Profile(time.process_time)
    profile.runcall(asyncio.run, drain(task, Meter()))
    stages.tell(profile)
    return 0


if __name__ == "__main__":
    sys.exit(main())
