"""One worker process of the fault tests: the real application over the chain, with fail points.

Fail points: places in a worker where it dies, freezes or pauses, the n-th time it passes.

They are between the steps of a transaction and in the work before it, one for each line of the failure matrix. The
product does not contain them: a worker of these tests gets producers and a commit stage that have them.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from aiokafka.protocol.transaction import EndTxnRequest

from streams.app.application import Application
from streams.cli.command import stop_on_signals
from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
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
from streams.workers.handler_jobs import HandlerJob
from streams.workers.pool import WorkerPool
from tests.faults.bugs import BUGS, planted
from tests.faults.chain import HANDLERS, Journal, settings_of
from tests.faults.ledger import with_transaction
from tests.kafka_proxy import connect_through

_STEPS = ("before_begin", "mid_send", "before_offsets", "after_offsets", "end_sent", "after_commit")
POINTS = ("before_work", "mid_call", *_STEPS, "opening")
AFTER_LOST_END = "after_lost_end"
"""As ``before_offsets``, in a transaction of an id that got no answer to its last commit."""
IN_COMMIT = (*_STEPS, AFTER_LOST_END)


MODES = {"exactly_once": True, "at_least_once": False} | {name: bug.transactional for name, bug in BUGS.items()}
"""The delivery modes and seeded bugs, and whether outputs and offsets are in one transaction."""


class Arm:
    """What should happen where: ``point:n:action``, the action ``kill``, ``stop`` or ``pause=SECONDS``."""

    def __init__(self, spec: str = "") -> None:
        self._point, number, self._action = (spec or ":0:").split(":")
        self._left = int(number)
        self.committing = 0
        """Commits under way; an opening has transactions too, and the points of a commit do not apply to it."""
        self.lost_ends: set[str] = set()
        """The transactional ids that got no answer to a commit."""

    def due(self, point: str) -> bool:
        """Counts the passage; whether it is the one."""
        if (point in IN_COMMIT and not self.committing) or point != self._point or self._left == 0:
            return False
        self._left -= 1
        return self._left == 0

    def passed(self, point: str) -> None:
        """Dies or freezes if this point is due."""
        if self.due(point):
            self.strike(point)

    def strike(self, point: str) -> None:
        print(f"at {point}", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP if self._action == "stop" else signal.SIGKILL)

    async def passed_waiting(self, point: str) -> None:
        """As ``passed``, and pauses if that is the action: the loop runs on, and the transaction stays open."""
        if not self._action.startswith("pause="):
            self.passed(point)
        elif self.due(point):
            print(f"at {point}", flush=True)
            await asyncio.sleep(float(self._action.removeprefix("pause=")))


def arm_pool(arm: Arm, pool: WorkerPool | None) -> None:
    """Adds the point before the work of a record. The worker ends there, not the child that would do the work."""
    assert pool is not None
    run = pool.run

    async def armed(job: HandlerJob) -> Any:
        if not job.replies:
            arm.passed("before_work")
        return await run(job)

    pool.run = armed  # type: ignore[method-assign]


class MortalConsumer:
    """The consumer of an at-least-once committer, with fail points around the commit of the offset."""

    def __init__(self, arm: Arm, consumer: CountingConsumer) -> None:
        self._arm = arm
        self.committed, self.beginning_offsets = consumer.committed, consumer.beginning_offsets
        self._commit = consumer.commit

    async def commit(self, offsets: Any) -> None:
        """All records are with the broker; then the offset too."""
        await self._arm.passed_waiting("before_offsets")
        await self._commit(offsets)
        await self._arm.passed_waiting("after_commit")


class MortalProducer(SingleEndProducer):
    """A producer with fail points between the steps of its transactions."""

    def __init__(self, arm: Arm, **options: Any) -> None:
        super().__init__(**options)
        self._arm = arm
        self._send_to_node = self.client.send
        self.client.send = self._sending

    async def begin_transaction(self) -> None:
        """Everything is decided, nothing is begun."""
        await self._arm.passed_waiting("before_begin")
        await super().begin_transaction()

    async def send(self, *values: Any, **options: Any) -> Any:
        """One record of several is with the broker."""
        confirmation = await super().send(*values, **options)
        if self._arm.due("mid_send"):
            await confirmation
            self._arm.strike("mid_send")
        return confirmation

    async def send_offsets_to_transaction(self, *values: Any, **options: Any) -> None:
        """All records are with the broker; then the offsets too."""
        await self._arm.passed_waiting("before_offsets")
        if self._txn_manager.transactional_id in self._arm.lost_ends:
            await self._arm.passed_waiting(AFTER_LOST_END)
        await super().send_offsets_to_transaction(*values, **options)
        await self._arm.passed_waiting("after_offsets")

    async def commit_transaction(self) -> None:
        await super().commit_transaction()
        await self._arm.passed_waiting("after_commit")

    async def abort_transaction(self) -> None:
        """The opening of a partition has written an offset, and is about to take it back."""
        await self._arm.passed_waiting("opening")
        await super().abort_transaction()

    async def _sending(self, node: Any, request: Any, **options: Any) -> Any:
        """The end of a transaction is written to the connection, and no answer is waited for."""
        if isinstance(request, EndTxnRequest) and self._arm.due("end_sent"):
            answer = asyncio.ensure_future(self._send_to_node(node, request, **options))
            await asyncio.sleep(0.001)
            self._arm.strike("end_sent")
            return await answer
        try:
            return await self._send_to_node(node, request, **options)
        except KafkaError:
            if isinstance(request, EndTxnRequest) and self._arm.committing:
                self._arm.lost_ends.add(self._txn_manager.transactional_id)
            raise


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
    commits = partial(armed_commits, arm=arm, transactional=MODES[options.stage])
    application = Application(settings, HANDLERS, services=journal, commits=commits)
    arm_pool(arm, application.pool)
    starting = asyncio.ensure_future(application.start())
    await asyncio.wait((starting, asyncio.ensure_future(stop.wait())), return_when=asyncio.FIRST_COMPLETED)
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


def armed_commits(
    settings: Settings, group: str, clock: Clock, observer: PipelineMetrics, *, arm: Arm, transactional: bool
) -> CommitterFactory:
    """Makes committers whose producers have fail points."""
    kafka, full_name = settings.kafka, settings.kafka.topic_prefix + group

    class Armed(commit.Committer):
        """Tells the arm that a commit is under way, and notes the transaction in each of its records."""

        async def _write(self, outputs: Sequence[OutputRecord], next_offset: int) -> None:
            arm.committing += 1
            try:
                await super()._write(with_transaction(outputs, uuid4().hex) if transactional else outputs, next_offset)
            finally:
                arm.committing -= 1

    def make(partition: TopicPartition, consumer: CountingConsumer) -> Committer:
        options = producer_options(kafka, transactional_id(full_name, partition) if transactional else None, group)
        return Armed(
            partition,
            consumer if transactional else MortalConsumer(arm, consumer),
            RecordWriter(lambda: MortalProducer(arm, **options), kafka.transaction_timeout_seconds),
            clock, observer, group=full_name, topic_prefix=kafka.topic_prefix, transactional=transactional,
        )  # fmt: skip

    return make


if __name__ == "__main__":
    sys.exit(main())
