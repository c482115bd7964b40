"""Fail points: places in a worker where it dies, freezes or pauses, the n-th time it passes.

They are between the steps of a transaction and in the work before it, one for each line of the failure matrix. The
product does not contain them: a worker of these tests gets producers and a commit stage that have them.
"""

import asyncio
import os
import signal
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.protocol.transaction import EndTxnRequest

from streams.kafka.aiokafka_fixes.producers import SingleEndProducer
from streams.pipeline.consumer import CountingConsumer
from streams.workers.handler_jobs import HandlerJob
from streams.workers.pool import WorkerPool

_STEPS = ("before_begin", "mid_send", "before_offsets", "after_offsets", "end_sent", "after_commit")
POINTS = ("before_work", "mid_call", *_STEPS, "opening")
AFTER_LOST_END = "after_lost_end"
"""As ``before_offsets``, in a transaction of an id that got no answer to its last commit."""
IN_COMMIT = (*_STEPS, AFTER_LOST_END)


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
