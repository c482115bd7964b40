"""One worker process of the fault tests: the real application over the chain, with fail points."""

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from aiokafka import TopicPartition

from streams.app.application import Application
from streams.cli.command import stop_on_signals
from streams.kafka.clients import producer_options
from streams.kafka.transactions import RecordWriter, transactional_id
from streams.pipeline import commit
from streams.pipeline.commit import Committer, CommitterFactory
from streams.pipeline.consumer import CountingConsumer
from streams.pipeline.metrics import PipelineMetrics
from streams.runtime.clock import Clock
from streams.settings.model import Settings
from streams.telemetry.setup import configure_logs
from streams.topology.codec import OutputRecord
from tests.faults.bugs import BUGS, planted
from tests.faults.chain import HANDLERS, Journal, settings_of
from tests.faults.ledger import with_transaction
from tests.kafka_proxy import connect_through
from tools.faults.points import Arm, MortalConsumer, MortalProducer, arm_pool

MODES = {"exactly_once": True, "at_least_once": False} | {name: bug.transactional for name, bug in BUGS.items()}
"""The delivery modes and seeded bugs, and whether outputs and offsets are in one transaction."""


def main() -> int:
    """Runs until SIGTERM; 0 if all records in work were committed in time."""
    options = argparse.Namespace(**json.loads(sys.argv[1]))
    configure_logs("warning", "console")
    if options.through:
        connect_through({int(port): proxy for port, proxy in options.through.items()}, options.only_consumers)
    with planted(options.stage if options.stage in BUGS else ""):
        return asyncio.run(work(options))


async def work(options: argparse.Namespace) -> int:
    stop = stop_on_signals()
    print("up", flush=True)
    arm = Arm(options.fail)
    journal = Journal(Path(options.journal), arm.passed)
    settings = settings_of(options.bootstrap, options.prefix)
    application = Application(settings, HANDLERS, services=journal, commits=_Commits(MODES[options.stage], arm))
    arm_pool(arm, application.pool)
    starting = asyncio.ensure_future(application.start())
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        return 0
    await starting
    said = sick = False
    while not stop.is_set():
        if not said and all(group.opened for group in application.groups):
            print("ready", flush=True)
            said = True
        if not (verdict := application.health.alive()).well:
            print(f"sick {verdict.problems}", flush=True)
        elif sick:
            print("well again", flush=True)
        sick = not verdict.well
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 0.1)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(application.stop(), settings.pipeline.drain_seconds + 30)
        return 0
    return 1


class _Commits:
    """Makes committers whose producers have fail points."""

    def __init__(self, transactional: bool, arm: Arm) -> None:
        self._transactional = transactional
        self._arm = arm

    def __call__(self, settings: Settings, group: str, clock: Clock, observer: PipelineMetrics) -> CommitterFactory:
        kafka, arm, transactional = settings.kafka, self._arm, self._transactional
        full_name = kafka.topic_prefix + group

        class Armed(commit.Committer):
            """Tells the arm that a commit is under way, and notes the transaction in each of its records."""

            async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
                arm.committing += 1
                try:
                    await super()._write(
                        with_transaction(outputs, uuid4().hex) if transactional else outputs, next_offset
                    )
                finally:
                    arm.committing -= 1

        def make(partition: TopicPartition, consumer: CountingConsumer) -> Committer:
            own_id = transactional_id(full_name, partition) if transactional else None
            options = producer_options(kafka, own_id, group)
            committer: Committer = Armed(
                partition,
                consumer if transactional else MortalConsumer(arm, consumer),
                RecordWriter(lambda: MortalProducer(arm, **options), kafka.transaction_timeout_seconds),
                clock,
                observer,
                group=full_name,
                topic_prefix=kafka.topic_prefix,
                transactional=transactional,
            )
            return committer

        return make


if __name__ == "__main__":
    sys.exit(main())
