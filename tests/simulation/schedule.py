"""One run: a plan that a seed decides, its workers and faults, and the judgement of the checker of the fault rounds."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from aiokafka import ConsumerRecord
from faststream.kafka.message import KafkaAckableMessage

from schemas.dead import dead_letter_topic
from streams.pipeline import intake
from streams.settings.model import Settings, load_settings
from tests.faults.bugs import BUGS, planted
from tests.faults.chain import ARRIVED, AUDITED, ENTERED, Entered, Numbered
from tests.faults.ledger import Ledger
from tests.simulation.broker import Brokers
from tests.simulation.faults import Fault, PlannedFaults
from tests.simulation.log import Log, batch_of
from tests.simulation.network import Network
from tests.simulation.worker import LARGEST, Effects, handler_of, work
from tests.simulation.world import OUTSIDE, NoProgressError, Process, World, WorldClock, make_deterministic

_PARSE = intake._parse
DEAD = dead_letter_topic(ENTERED.name, "assay.relay")
_KEYS = 4
_PATIENCE_SECONDS = 90.0
"""After the last fault; records that have not come out by then are lost."""
_REACH_SECONDS = 12.0
"""Faults that were not reached by then do not happen."""
_LOOK_SECONDS = 0.2
_SESSION_SECONDS = 5.0
_TRANSACTION_SECONDS = 3.0


@dataclass(frozen=True)
class Plan:
    """What a seed decides."""

    delivery: str
    ordered: bool
    partitions: int
    nodes: int
    workers: int
    slowest_frame: float
    slowest_marker: float
    grid: float
    window_records: int
    poll_records: int
    commit_records: int
    linger: float
    intake_pause: float
    """Seconds at most between a poll and its intake: FastStream may wait there, for example in a middleware."""
    batches: int
    faults: tuple[Fault, ...]

    @classmethod
    def of(cls, chance: random.Random) -> Plan:
        """Draws a plan."""
        return cls(
            delivery="exactly_once" if chance.random() < 0.8 else "at_least_once",
            ordered=chance.random() < 0.7,
            partitions=chance.choice((1, 2, 2)),
            nodes=chance.choice((1, 1, 2)),
            workers=chance.choice((1, 2, 2)),
            slowest_frame=chance.choice((0.002, 0.02, 0.2)),
            grid=chance.choice((0.0, 0.001, 0.01)),
            slowest_marker=chance.choice((0.001, 0.02, 0.15)),
            window_records=chance.randint(2, 12),
            poll_records=chance.randint(1, 8),
            commit_records=chance.randint(1, 5),
            linger=chance.choice((0.0, 0.02)),
            intake_pause=chance.choice((0.0, 0.0, 0.02, 0.5)),
            batches=chance.randint(2, 5),
            faults=tuple(Fault.drawn(chance, _SESSION_SECONDS) for _ in range(chance.choice((1, 2, 2, 3)))),
        )


@dataclass(frozen=True)
class Result:
    """What a run has shown."""

    seed: int
    findings: dict[str, list[str]]
    faults: tuple[str, ...]
    digest: str
    """Of the trace: the same for two runs of a seed."""
    seconds: float
    """Virtual."""
    trace: tuple[tuple[float, str, str, str], ...] = field(default=(), repr=False)

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def simulate(seed: int, bug: str = "", keep_trace: bool = False, control: bool = False) -> Result:
    """Runs the plan of a seed, with a seeded bug if one is named; the control has the same plan without the bug.

    Clocks and random numbers of this process belong to the run from then on, and it keeps what the run leaves behind:
    it should end after some runs.
    """
    chance = random.Random(seed)
    plan = Plan.of(chance)
    if bug:
        plan = replace(plan, delivery="exactly_once" if BUGS[bug].transactional else "at_least_once")
    world = World()
    make_deterministic(world, seed)
    _quiet()
    _pause_intake(plan.intake_pause)
    run = Run(world, plan, chance)
    with planted("" if control else bug):
        try:
            stuck = world.run_until_complete(run.live())
        except NoProgressError as error:
            stuck = [str(error)]
    findings = run.judge()
    if stuck and (plan.delivery == "exactly_once" or "lost" in findings):
        # At least once, a late OffsetCommit sets the offset back, and the next owner repeats what was written.
        findings["stuck"] = stuck
    trace = run.network.trace
    digest = hashlib.sha256(repr(trace).encode()).hexdigest()[:16]
    return Result(
        seed, findings, tuple(run.faults.done), digest, round(world.time(), 3), tuple(trace) if keep_trace else ()
    )


class Run:
    """The workers and brokers of one run."""

    def __init__(self, world: World, plan: Plan, chance: random.Random) -> None:
        """Starts nothing yet."""
        self._world = world
        self._plan = plan
        self._chance = chance
        self._handler = handler_of(plan.ordered)
        retry = [each.topic for each in self._handler.retry_topics]
        names = (ENTERED.name, ARRIVED.name, AUDITED.name, DEAD, *retry)
        self.brokers = Brokers(world, chance, dict.fromkeys(names, plan.partitions), plan.nodes)
        self.brokers.transactions.slowest_marker = plan.slowest_marker
        for number in range(plan.partitions):
            self.brokers.logs[ARRIVED.name, number].largest = LARGEST
        self._read = {ENTERED.name: self._handler.group} | {
            each.topic: each.group for each in self._handler.retry_topics
        }
        self.network = Network(world, chance, self.brokers, plan.slowest_frame, plan.grid)
        self.faults = PlannedFaults(list(plan.faults), self.network, self)
        self.network.faults = self.faults
        self._settings = _settings_of(plan)
        self._clock = WorldClock(world)
        self._effects = Effects()
        self._ledger = Ledger()
        self._numbers = dict.fromkeys((f"k{n}" for n in range(_KEYS)), 0)
        self._workers: dict[Process, asyncio.Event] = {}
        self._started = 0
        self._aborted = 0
        self._bugs: list[str] = []
        """Errors that ended a worker, a partition or a runner."""

    async def live(self) -> list[str]:
        """Feeds, waits until all has come out, and then for all that may still come. Returns what does not come."""
        for _ in range(self._plan.workers):
            self.add()
        for _ in range(self._plan.batches):
            self._feed()
            await asyncio.sleep(self._chance.choice((0.0, 0.05, 0.7)))
        await self._until(self._read_up, _REACH_SECONDS)
        self.faults.give_up()
        if not await self._until(self._read_up, max(self._world.time(), self.faults.quiet_at) + _PATIENCE_SECONDS):
            return [f"{name} {place}" for name, place in self._behind()]
        await self._until(self._quiet, float("inf"))
        await asyncio.sleep(0.3)
        return []

    async def _until(self, reached: Callable[[], bool], at: float) -> bool:
        """Waits for something until a time; whether it came about."""
        while not reached():
            if self._world.time() > at:
                return False
            await asyncio.sleep(_LOOK_SECONDS)
        return True

    def _quiet(self) -> bool:
        no_transaction = not any(log.open for log in self.brokers.logs.values())
        return no_transaction and self._world.time() >= self.faults.quiet_at

    def judge(self) -> dict[str, list[str]]:
        """What the checker finds, without kinds of which there is nothing."""
        ledger, logs = self._ledger, self.brokers.logs
        places = {ARRIVED.name: ledger.arrived, AUDITED.name: ledger.audited, DEAD: ledger.dead}
        for (topic, _), log in logs.items():
            for record in log.committed():
                ledger.note_transaction(record.headers)
                if topic in places:
                    places[topic].append(Numbered.model_validate_json(record.value).id)
        refused = any(log.refused for log in logs.values())
        if not self._plan.ordered or (refused and self._plan.delivery == "at_least_once"):
            # Outside of a transaction, what is sent behind a refused output is written before it is sent again.
            ledger.arrived.sort(key=lambda name: (name.split("/")[0], int(name.split("/")[1])))
        for name, kind in self._effects.done.items():
            ledger.effects += [f"effect {name}"] if kind == "big" else [f"effect {name}", f"audit {name}"]
        if self._plan.delivery == "at_least_once":
            ledger = ledger.without_repetitions()
        findings = ledger.check()
        found = {name: list(getattr(findings, name)) for name, count in findings.counts.items() if count}
        if bugs := self._bugs + self._world.complaints:
            found["bugs"] = bugs
        return found

    # --- workers, as faults see them ---------------------------------------------------------------------------------

    def add(self) -> None:
        """Starts one more worker."""
        self._started += 1
        process, stop = Process(f"w{self._started}"), asyncio.Event()
        self._workers[process] = stop

        def ended(problems: tuple[str, ...]) -> None:
            for problem in problems:
                self.network.note(process, "", f"gave up: {problem}")
                if "stopped by" in problem:
                    self._bugs.append(problem)
            self.kill(process)

        life = work(self._settings, self._handler, self._clock, self._effects, stop, ended)
        self._world.start(process, life).add_done_callback(self._note_error, context=OUTSIDE)

    def _note_error(self, life: asyncio.Task[None]) -> None:
        if not life.cancelled() and (error := life.exception()) is not None:
            self._bugs.append(repr(error))

    def kill(self, process: Process) -> None:
        """Kills a worker."""
        self._world.kill(process)
        self._workers.pop(process, None)
        self._keep()

    def dismiss(self, process: Process) -> None:
        """Asks a worker to end."""
        if process in self._workers:
            self._workers[process].set()
            self._keep(leaving=1)

    def _keep(self, leaving: int = 0) -> None:
        """Has another worker start if too few are left."""
        if len(self._workers) - leaving < self._plan.workers:
            self._world.call_at(
                self._world.time() + self._chance.uniform(0.05, 1.5), self._replace, leaving, context=OUTSIDE
            )

    def _replace(self, leaving: int) -> None:
        if len(self._workers) - leaving < self._plan.workers:
            self.add()

    # --- records -----------------------------------------------------------------------------------------------------

    def _feed(self) -> None:
        """A few numbered records; at times a transaction that is aborted before them."""
        by_place: dict[int, list[tuple[bytes, bytes]]] = {}
        for _ in range(self._chance.randint(1, 4)):
            key = self._chance.choice(tuple(self._numbers))
            roll = self._chance.random()
            kind = "poison" if roll < 0.05 else "big" if roll < 0.13 else "later" if roll < 0.23 else "plain"
            record = Entered(key=key, number=self._numbers[key], kind=kind)
            self._numbers[key] += 1
            self._ledger.fed[record.id] = kind
            by_place.setdefault(int(key[1:]) % self._plan.partitions, []).append((key.encode(), record.to_json()))
        for number, records in by_place.items():
            place = (ENTERED.name, number)
            if self._chance.random() < 0.2:
                self._aborted += 1
                refused = Entered(key="aborted", number=self._aborted)
                self._ledger.never_committed.add(refused.id)
                pid = 10 + self._aborted
                self.brokers.feed(place, batch_of([(b"aborted", refused.to_json())], pid, 0, 0))
                self.brokers.logs[place].end_transaction(pid, 0, committed=False)
            self.brokers.feed(place, batch_of(records))

    def _behind(self) -> Iterator[tuple[str, int]]:
        """The input partitions with records whose offset is not committed."""
        for topic, group in self._read.items():
            offsets = self.brokers.groups.of(group).offsets
            for number in range(self._plan.partitions):
                if offsets.get((topic, number), 0) <= _last_record(self.brokers.logs[topic, number]):
                    yield topic, number

    def _read_up(self) -> bool:
        return next(self._behind(), None) is None


def _last_record(log: Log) -> int:
    return next((batch.last for batch in reversed(log.batches) if not batch.control), -1)


_BASE: list[Settings] = []


def base_settings() -> Settings:
    """The settings that all plans share; processes that are forked afterwards have them too."""
    if not _BASE:
        _BASE.append(load_settings(http={"enabled": False}, workers={"processes": 0}))
    return _BASE[0]


def _settings_of(plan: Plan) -> Settings:
    base = base_settings()
    kafka = base.kafka.model_copy(
        update={
            "bootstrap_servers": "sim:9092", "session_timeout_seconds": _SESSION_SECONDS, "heartbeat_seconds": 0.5,
            "rebalance_timeout_seconds": 8.0, "transaction_timeout_seconds": _TRANSACTION_SECONDS,
        }
    )  # fmt: skip
    pipeline = base.pipeline.model_copy(
        update={
            "window_records": plan.window_records, "poll_records": plan.poll_records,
            "commit_records": plan.commit_records, "commit_linger_seconds": plan.linger, "drain_seconds": 4.0,
            "stalled_seconds": 40.0,
        }
    )  # fmt: skip
    processing = base.processing.model_copy(
        update={
            "retries": base.processing.retries.model_copy(
                update={"max_attempts": 3 if plan.ordered else 1, "first_seconds": 0.05}
            ),
            "breaker": base.processing.breaker.model_copy(update={"failures": 1_000_000}),
        }
    )
    return base.model_copy(
        update={"kafka": kafka, "pipeline": pipeline, "processing": processing, "delivery": plan.delivery}
    )


def _quiet() -> None:
    """Faults fill the logs, and an idle poll is a step of the run that shows nothing."""
    intake._IDLE_POLL_MS = 500
    logging.disable(logging.CRITICAL)
    structlog.configure(
        logger_factory=structlog.ReturnLoggerFactory(), processors=[_drop], cache_logger_on_first_use=False
    )


def _pause_intake(seconds: float) -> None:
    async def parse(records: tuple[ConsumerRecord, ...]) -> KafkaAckableMessage:
        if seconds:
            await asyncio.sleep(random.uniform(0, seconds))
        return await _PARSE(records)

    intake._parse = parse


def _drop(*_: Any) -> Any:
    raise structlog.DropEvent
