"""The brokers, a few workers and the steps of a round: feed, wait, read back. It makes no decision."""

import asyncio
import contextlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from schemas.dead import dead_letter_topic
from streams.kafka.clients import make_admin, make_reader, opened, producer_options, start, stop
from streams.kafka.topics import create_topics, plan_topics
from tests.brokers import Brokers
from tests.faults import chain
from tests.faults.chain import ENTERED, HANDLERS, PASSED, TOPICS, Entered, Journal, Numbered, settings_of
from tests.faults.ledger import Findings, Ledger
from tests.processes import marked
from tools.faults.worker_process import Worker, hold

KEYS = 24
PATIENCE_SECONDS = 60.0
"""After this time without a new output, the missing ones count as lost."""
FEED_SECONDS = 120
"""For so long what is fed waits for a broker: what is given up would look as if it were lost on the way."""
DEAD = dead_letter_topic(ENTERED.name, "assay.relay")
_START_SECONDS = 120.0
"""For so long a worker may take to hold its partitions: on a starved machine its imports alone take many seconds."""
_PROGRAM = "import sys; from tools.faults.worker import main; sys.exit(main())"
"""No main module: each child would import it again."""
_MARK = "FAULTS_WORKER"
"""Names the worker in the environment of all processes below it, as they have another parent when it is dead."""
_ORPHAN_SECONDS = 10.0
"""For so long a process may outlive its worker: much longer than the work of a record takes in a child."""
_LEAVE_SECONDS = 60.0
_END_SECONDS = 30.0
"""For so long a process that was killed may take to end."""
_CHECK_SECONDS = 1.0
"""Between two checks of what was read while the run goes on."""
_TRICKLE_SECONDS = 600.0
"""The longest time for a round's outputs, also slow ones: an endless retry would never end otherwise."""


class Cluster:
    """One run's brokers, topics, workers and ledger. What a reader gets is checked while the run goes on."""

    def __init__(self, brokers: Brokers, prefix: str, folder: Path, stage: str) -> None:
        self.brokers = brokers
        self.settings = settings_of(brokers.bootstrap_servers, prefix)
        self.ledger = Ledger()
        self.workers: list[Worker] = []
        self.started = 0
        self.aborted = 0
        """Records fed in transactions that were aborted: no consumer may ever see one."""
        self.complaints: list[str] = []
        self.places: dict[str, list[str]] = {}
        """Where each record was written: topic, partition and offset."""
        self.numbers = dict.fromkeys((f"key-{n}" for n in range(KEYS)), 0)
        dead = [dead_letter_topic(handler.consumes.name, handler.group) for handler in HANDLERS]
        self._noted = {chain.ARRIVED.name: self.ledger.arrived, chain.AUDITED.name: self.ledger.audited}
        self._noted |= dict.fromkeys(dead, self.ledger.dead)
        """Topics whose records are noted. Of the others, only the transactions are."""
        self._prefix = prefix
        self._folder = folder
        self._stage = stage
        options = producer_options(self.settings.kafka, None, "feed") | {"request_timeout_ms": FEED_SECONDS * 1000}
        self._producer = AIOKafkaProducer(**options)
        self._reader = make_reader(self.settings.kafka)
        self._reading: asyncio.Task[None] | None = None
        self.fed = 0
        """Records of settled rounds."""
        self.found: Findings | None = None
        """The first thing that was wrong while the run went on."""
        self._checked_at = 0.0
        self._effects_settled = self._effects_read = 0

    # --- workers -----------------------------------------------------------------------------------------------------

    async def start(self, fail: str = "", through_proxy: str = "", wait: str = "ready") -> Worker:
        """Starts a worker and waits until it says that it holds its partitions, or only that it hears signals.

        ``through_proxy`` names its connections through the proxies: ``all``, ``consumers``, or none.
        """
        self.started += 1
        log = self._folder / f"worker-{self.started}.log"
        options = {
            "bootstrap": self.brokers.bootstrap_servers, "prefix": self._prefix, "fail": fail, "stage": self._stage,
            "journal": str(self._folder / "journal.sqlite"), "through": self.brokers.ways if through_proxy else {},
            "only_consumers": through_proxy == "consumers",
        }  # fmt: skip
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _PROGRAM, json.dumps(options), stdout=asyncio.subprocess.PIPE, stderr=errors,
                env=os.environ | {_MARK: f"{self._prefix}{self.started}"},
            )  # fmt: skip
        worker = Worker(self.started, process, log, armed=bool(fail))
        self.workers.append(worker)
        for word in ("up", wait) if wait else ("up",):
            if not await worker.says(word, _START_SECONDS):
                self.complaints.append(f"worker {worker.number} was not {word} in {_START_SECONDS:g} s, see {log}")
        return worker

    @property
    def staying(self) -> list[Worker]:
        return [worker for worker in self.workers if not worker.leaving]

    async def keep(self, count: int) -> list[Worker]:
        """Buries the dead and starts workers until there are ``count`` that stay."""
        self.bury()
        for _ in range(count - len(self.staying)):
            await self.start()
        return self.staying[:count]

    async def disarm(self) -> None:
        """Kills the workers whose fail point is still armed; otherwise another round's fault would reach it."""
        for worker in [worker for worker in self.workers if worker.armed]:
            worker.send(signal.SIGKILL)
            await worker.ends(_END_SECONDS)
        self.bury()

    async def thin_out(self, count: int) -> None:
        """Has no more than ``count`` workers stay, and waits until the others have ended."""
        self.bury()
        for worker in [*(worker for worker in self.workers if worker.leaving), *self.staying[count:]]:
            await self.dismiss(worker)

    def bury(self) -> None:
        for worker in [worker for worker in self.workers if not worker.alive]:
            self.workers.remove(worker)
            # A frozen worker reports a stall for a moment when it wakes; `assay run` exits after a second of it.
            if worker.ailment:
                self.complaints.append(f"worker {worker.number} {worker.ailment}")

    async def expect_no_orphans(self) -> None:
        """Waits for the end of all processes below dead workers; those that stay are complained of."""
        # A process that is stopped can't see that its worker is dead.
        wake(self._orphans())
        if not await hold(lambda: not self._orphans(), _ORPHAN_SECONDS):
            self.complaints.append(f"these processes outlived their worker: {self._orphans()}")

    def below(self, worker: Worker) -> list[int]:
        """The processes below a worker: its children and their template."""
        name = self._prefix + str(worker.number)
        return [pid for pid, its in marked(_MARK, name).items() if its == name and pid != worker.process.pid]

    def _orphans(self) -> dict[int, str]:
        alive = {f"{self._prefix}{worker.number}" for worker in self.workers if worker.alive}
        return {pid: name for pid, name in marked(_MARK, self._prefix).items() if name not in alive}

    async def dismiss(self, worker: Worker) -> None:
        """SIGTERM; a worker that doesn't end with status 0 in time is complained of."""
        if not worker.leaving:
            worker.send(signal.SIGTERM)
        status = await worker.ends(_LEAVE_SECONDS)
        if status != 0:
            self.complaints.append(f"worker {worker.number} ended with {status} on SIGTERM, see {worker.log}")
            worker.send(signal.SIGKILL)
            await worker.ends(_END_SECONDS)
        self.bury()

    async def dismiss_all(self) -> None:
        """Ends every worker, also a frozen one."""
        for worker in self.workers:
            worker.send(signal.SIGKILL)
        await asyncio.gather(*(worker.ends(_END_SECONDS) for worker in self.workers))
        self.workers.clear()
        await self.expect_no_orphans()

    @asynccontextmanager
    async def beside(self, stage: str) -> AsyncIterator["Cluster"]:
        """A cluster on the same broker with separate topics and workers; its complaints are added to this one's."""
        async with cluster(self.brokers, self._folder, f"{stage}-{time.monotonic_ns()}", stage) as made:
            try:
                yield made
            finally:
                self.complaints += made.complaints

    # --- records -----------------------------------------------------------------------------------------------------

    async def feed(
        self, chance: random.Random, count: int = 160, seconds: float = 1.5, transactions: bool = True, **kinds: int
    ) -> None:
        """Feeds numbered records in tens over a while, and notes them; ``kinds`` in a hundred are special.

        With ``transactions`` some tens go in transactions, a few of them after one that is aborted.
        """
        whims = random.Random(self.fed + len(self.ledger.fed))
        # Not a ``SingleEndProducer``: it can't tell whether it has fed, where a coordinator has just moved.
        options = producer_options(self.settings.kafka, f"{self._prefix}feed", "feed in transactions")
        feeder = AIOKafkaProducer(**options)
        if transactions:
            await feeder.start()
        try:
            for _ in range(count // 10):
                records = [self._next(chance, kinds or {"poison": 2, "later": 3}) for _ in range(10)]
                if transactions and whims.random() < 0.2:
                    await self.flushed()
                    if whims.random() < 0.5:
                        self.aborted += 1
                        record = Entered(key=f"aborted-{self.aborted}", number=0)
                        self.ledger.never_committed.add(record.id)
                        await self._transact(feeder, [record], abort=True)
                    await self._transact(feeder, records)
                else:
                    for record in records:
                        await self._send(self._producer, record)
                await asyncio.sleep(seconds * 10 / count)
        finally:
            await feeder.stop()

    @asynccontextmanager
    async def feeding(self, chance: random.Random, within: tuple[float, float], **options: Any) -> AsyncIterator[None]:
        """Feeds while the block does its harm, from a moment within these seconds on."""
        task = asyncio.ensure_future(self.feed(chance, **options))
        try:
            await asyncio.sleep(chance.uniform(*within))
            yield
            await task
        finally:
            task.cancel()

    def _next(self, chance: random.Random, kinds: dict[str, int]) -> Entered:
        key = chance.choice(tuple(self.numbers))
        roll, kind = chance.random() * 100, "plain"
        for name, share in kinds.items():
            if 0 <= roll < share:
                kind = name
            roll -= share
        record = Entered(key=key, number=self.numbers[key], kind=kind)
        self.numbers[key] += 1
        self.ledger.fed[record.id] = kind
        return record

    async def _send(self, producer: AIOKafkaProducer, record: Entered) -> Any:
        return await producer.send(self._prefix + ENTERED.name, record.to_json(), key=record.key.encode())

    async def _transact(self, producer: AIOKafkaProducer, records: list[Entered], abort: bool = False) -> None:
        await producer.begin_transaction()
        await asyncio.gather(*[await self._send(producer, record) for record in records])
        await (producer.abort_transaction() if abort else producer.commit_transaction())

    async def flushed(self) -> None:
        await self._producer.flush()

    async def comes_out(self, seconds: float, whatever_is_found: bool = False) -> bool:
        """Waits until every input has an output.

        False if the reader has found something wrong, unless that does not matter; if no output was written for this
        time, or if outputs trickle for much longer than allowed.
        """
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.flushed(), FEED_SECONDS)
            until, known = time.monotonic() + seconds, self.ledger.known
            last = time.monotonic() + _TRICKLE_SECONDS
            while not self.ledger.complete:
                await asyncio.sleep(0.1)
                if self.ledger.known > known:
                    until, known = time.monotonic() + seconds, self.ledger.known
                if (self.found and not whatever_is_found) or time.monotonic() > min(until, last):
                    return False
            return True
        return False

    async def read_on(self, seconds: float) -> None:
        """Waits for what still comes: it would be too much."""
        await asyncio.sleep(seconds)
        journal = Journal(self._folder / "journal.sqlite")
        self.ledger.effects, self._effects_read = journal.effects(self._effects_settled)
        journal.close()

    def settle(self) -> None:
        """Forgets a round that went well, so that many rounds take bounded memory."""
        self.fed += len(self.ledger.fed)
        self.ledger.settle()
        self.places.clear()
        self._effects_settled = self._effects_read

    async def _read(self) -> None:
        """Reads all outputs as they are written, and checks after each poll what can be said already."""
        while True:
            polled = await self._reader.getmany(timeout_ms=200)
            for partition, records in polled.items():
                self._note(partition, records)
            if polled and not self.found and time.monotonic() - self._checked_at > _CHECK_SECONDS:
                self._checked_at = time.monotonic()
                findings = self.ledger.check(running=True)
                self.found = findings if not findings.clean else None

    def _note(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        topic = partition.topic.removeprefix(self._prefix)
        for record in records:
            self.ledger.note_transaction(record.headers)
            if topic in self._noted:
                name = Numbered.model_validate_json(record.value).id
                self._noted[topic].append(name)
                self.places.setdefault(name, []).append(f"{topic}/{partition.partition}@{record.offset}")

    @property
    def topics(self) -> list[str]:
        return [topic.name for topic in plan_topics(self.settings.kafka, TOPICS, HANDLERS)]

    async def limit(self, topic: str, size: int) -> None:
        """Has the broker refuse larger records on a topic."""
        changes = {"max.message.bytes": str(size)}
        async with opened(make_admin(self.settings.kafka)) as admin:
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, self._prefix + topic, changes)])

    async def open(self) -> None:
        await create_topics(self.settings.kafka, TOPICS, HANDLERS)
        await self.limit(PASSED.name, chain.LARGEST_PASSED)
        await start(self._producer)
        await start(self._reader)
        retried = [retry.topic for handler in HANDLERS for retry in handler.retry_topics]
        topics = [self._prefix + topic for topic in (*self._noted, PASSED.name, *retried)]
        self._reader.assign([TopicPartition(topic, n) for topic in topics for n in range(chain.PARTITIONS)])
        self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        await self.dismiss_all()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for client in (self._producer, self._reader):
            with contextlib.suppress(Exception):
                await stop(client, 10)


@asynccontextmanager
async def cluster(brokers: Brokers, folder: Path, name: str, stage: str = "exactly_once") -> AsyncIterator[Cluster]:
    """A separate cluster on the brokers, for the time of the block."""
    inner = folder / name
    inner.mkdir(parents=True)
    made = Cluster(brokers, f"faults.{name}.{os.getpid()}.", inner, stage)
    try:
        await made.open()
        yield made
    finally:
        await made.close()


def wake(pids: Iterable[int], number: signal.Signals = signal.SIGCONT) -> None:
    """Has stopped processes continue, or sends another signal."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
