"""The brokers of a cluster: requests are decoded and answers encoded with the client's own protocol classes."""

from __future__ import annotations

import asyncio
import random
import re
import struct
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

from aiokafka.protocol.admin import ApiVersionRequest
from aiokafka.protocol.api import Request, RequestStruct
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetFetchRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)
from aiokafka.record.default_records import DefaultRecordBatch

from tests.simulation import codes
from tests.simulation.groups import Groups
from tests.simulation.log import Log
from tests.simulation.transactions import Place, Transactions
from tests.simulation.world import OUTSIDE, World

_SPOKEN: tuple[type[Request[Any]], ...] = (
    ProduceRequest, FetchRequest, OffsetRequest, MetadataRequest, OffsetCommitRequest, OffsetFetchRequest,
    FindCoordinatorRequest, JoinGroupRequest, HeartbeatRequest, LeaveGroupRequest, SyncGroupRequest,
    InitProducerIdRequest, AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest, TxnOffsetCommitRequest,
)  # fmt: skip
_REQUESTS: dict[int, type[RequestStruct]] = {each.API_KEY: each._CLASSES[-1] for each in _SPOKEN} | {
    ApiVersionRequest.API_KEY: ApiVersionRequest._CLASSES[0]
}
"""The newest version of each request that the client speaks; the brokers offer these only."""
_VERSIONS = bytes(
    _REQUESTS[ApiVersionRequest.API_KEY]
    .RESPONSE_TYPE(0, [(key, kind.API_VERSION, kind.API_VERSION) for key, kind in _REQUESTS.items()])
    .encode()
)
"""What the brokers offer; every connection begins with it."""
NAMES: dict[int, str] = {each.API_KEY: each.__name__.removesuffix("Request") for each in (*_SPOKEN, ApiVersionRequest)}
_METHODS = {key: "_on_" + re.sub("(?<!^)(?=[A-Z])", "_", name).lower() for key, name in NAMES.items()}
_MIN_PORT = 9092
_FETCHED_BATCHES = 20
_FETCH_SECONDS = 0.5
"""A fetch without records waits for so long; longer than a client asks for, so that an idle run has fewer steps."""


class Failure(NamedTuple):
    """An error that a broker answers although nothing is wrong with the request."""

    code: int
    handled: bool = False
    """Whether the broker does what is asked all the same, as if only the answer of its replicas came too late."""


Answer = bytes | asyncio.Future[bytes] | None


class Brokers:
    """A cluster whose nodes share one state, apart from what a node that is cut off takes for it.

    Otherwise, which node has which partition is the only difference between them.
    """

    def __init__(self, world: World, chance: random.Random, topics: dict[str, int], nodes: int = 1) -> None:
        """Makes empty topics with so many partitions each."""
        self._world = world
        self._chance = chance
        self.nodes = nodes
        self.logs = {(topic, number): Log() for topic, count in topics.items() for number in range(count)}
        self._partitions = topics
        self._leaders = {place: index % nodes for index, place in enumerate(self.logs)}
        self.groups = Groups(world, chance)
        self.transactions = Transactions(world, chance, self._mark)
        self.moved = 0
        """How often the coordinators have moved to another node."""
        self._lost: int | None = None
        """A node that was cut off: the others have taken over, and keep, what was its."""
        self._before: dict[str, dict[Place, int]] = {}
        """What it still answers to members of the groups that it takes for its own; empty when it is back."""
        self.failing: dict[str, Failure] = {}
        """For the next request of a name, as brokers answer while they start, move, or wait for their replicas."""
        self._described: dict[Any, bytes] = {}
        """The metadata by what they depend on."""
        self._waiting: list[asyncio.Future[None]] = []

    def move(self) -> None:
        """Moves every leader and coordinator to another node, if there is one."""
        if self.nodes == 1 or self._lost is not None:
            return
        self._leaders = {place: (node + 1) % self.nodes for place, node in self._leaders.items()}
        self.moved += 1
        self.groups.restart()

    def cut_off(self, port: int) -> None:
        """Cuts a node off from the others, once in a run. Clients still reach it, and it answers reads of groups."""
        node = port - _MIN_PORT
        if self.nodes == 1 or self._lost is not None:
            return
        its = [group for group in self.groups.known() if self._coordinator(group.name) == node]
        self._before = {group.name: dict(group.offsets) for group in its}
        self._lost = node
        self._leaders = {place: self._in_place_of(leader) for place, leader in self._leaders.items()}
        self.groups.restart(its)

    def take_back(self) -> None:
        """The node that was cut off learns that others coordinate by now."""
        self._before = {}

    def feed(self, place: Place, raw: bytes) -> None:
        """Appends a batch without a client."""
        code, _ = self.logs[place].append(raw)
        assert not code
        self._grown()

    def handle(self, frame: bytes, port: int) -> Answer:
        """The answer to a request, with its header; None if the request wants none."""
        data = BytesIO(frame)
        key, _, number, size = struct.unpack(">hhih", data.read(10))
        if key == ApiVersionRequest.API_KEY:
            return struct.pack(">i", number) + _VERSIONS
        data.seek(max(size, 0), 1)
        kind = _REQUESTS[key]
        request = kind.decode(data)
        node = port - _MIN_PORT
        if key == MetadataRequest.API_KEY:
            if (failure := self.failing.pop("Metadata", None)) is not None:
                fields = self._failing_metadata(request.topics, failure.code)
                return struct.pack(">i", number) + bytes(kind.RESPONSE_TYPE(*fields).encode())
            known = (self.moved, self._lost, None if request.topics is None else tuple(request.topics))
            if known not in self._described:
                self._described[known] = bytes(kind.RESPONSE_TYPE(*self._metadata(request.topics)).encode())
            return struct.pack(">i", number) + self._described[known]
        handler: Callable[[Any, int], Any] = getattr(self, _METHODS[key])
        answer = handler(request, node)

        def encode(fields: tuple[Any, ...]) -> bytes:
            return struct.pack(">i", number) + bytes(kind.RESPONSE_TYPE(*fields).encode())

        if not isinstance(answer, asyncio.Future):
            return encode(answer)
        encoded: asyncio.Future[bytes] = self._world.create_future()

        def pass_on(done: asyncio.Future[Any]) -> None:
            if not done.cancelled() and not encoded.done():
                encoded.set_result(encode(done.result()))

        answer.add_done_callback(pass_on, context=OUTSIDE)
        return encoded

    def _coordinator(self, name: str) -> int:
        return self._in_place_of((sum(name.encode()) + self.moved) % self.nodes)

    def _in_place_of(self, node: int) -> int:
        return (node + 1) % self.nodes if node == self._lost else node

    def _takes_for_its_own(self, name: str, node: int) -> bool:
        """Whether the node is cut off and coordinated the group before."""
        return node == self._lost and name in self._before

    def _misplaced(self, key: str, name: str, node: int) -> int:
        """An error code if the node does not coordinate, or is about to fail this request."""
        if (failure := self.failing.pop(key, None)) is not None:
            return failure.code
        if self._takes_for_its_own(name, node):
            # What changes the group needs the other nodes.
            return 0 if key == "Heartbeat" else codes.GROUP_COORDINATOR_NOT_AVAILABLE
        return 0 if self._coordinator(name) == node else codes.NOT_COORDINATOR_FOR_GROUP

    def _coordinated(self, key: str, name: str, node: int, handle: Callable[[], int]) -> int:
        """Has the node handle a request if it coordinates; returns an error code."""
        failure = self.failing.get(key)
        if failure is None or not failure.handled:
            return self._misplaced(key, name, node) or handle()
        del self.failing[key]
        return self._misplaced(key, name, node) or handle() or failure.code

    def _mark(self, where: Place | str, pid: int, epoch: int, committed: bool) -> None:
        if isinstance(where, str):
            self.groups.end_transaction(where, pid, epoch, committed)
        else:
            self.logs[where].end_transaction(pid, epoch, committed)
            self._grown()

    def _grown(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    # --- requests, by the name of their class ------------------------------------------------------------------------

    def _metadata(self, topics: list[str] | None) -> tuple[Any, ...]:
        described: list[tuple[Any, ...]] = []
        for topic in self._partitions if topics is None else topics:
            if topic not in self._partitions:
                described.append((codes.UNKNOWN_TOPIC_OR_PARTITION, topic, False, []))
                continue
            numbers = range(self._partitions[topic])
            leaders = [(0, number, self._leaders[topic, number], [0], [0], list[int]()) for number in numbers]
            described.append((0, topic, False, leaders))
        # The client keeps brokers in a set, and the hash of a missing rack is an address in memory.
        nodes = [(number, "sim", _MIN_PORT + number, "rack") for number in range(self.nodes)]
        return 0, nodes, "simulated", 0, described

    def _failing_metadata(self, topics: list[str] | None, code: int) -> tuple[Any, ...]:
        """The answer of a broker that knows no brokers, no leaders, or not the first topic yet."""
        throttled, nodes, name, controller, described = self._metadata(topics)
        if code == codes.BROKER_NOT_AVAILABLE:
            nodes = []
        elif code == codes.LEADER_NOT_AVAILABLE:
            described = [
                (error, topic, internal, [(code, number, -1, *replicas) for _, number, _, *replicas in partitions])
                for error, topic, internal, partitions in described
            ]
        elif described:
            described[0] = (code, described[0][1], False, [])
        return throttled, nodes, name, controller, described

    def _on_find_coordinator(self, request: Any, node: int) -> Any:
        if (failure := self.failing.pop("FindCoordinator", None)) is not None:
            return 0, failure.code, None, -1, "", -1
        name = request.coordinator_key
        number = node if self._takes_for_its_own(name, node) else self._coordinator(name)
        return 0, 0, None, number, "sim", _MIN_PORT + number

    def _on_produce(self, request: Any, node: int) -> Any:
        answers = [
            (topic, [(number, *self._append((topic, number), raw, request.transactional_id, node))
                     for number, raw in partitions])
            for topic, partitions in request.topics
        ]  # fmt: skip
        self._grown()
        return answers, 0

    def _append(self, place: Place, raw: bytes, name: str | None, node: int) -> tuple[int, int, int, int]:
        failure = self.failing.pop("Produce", Failure(0, handled=True))
        code, offset = 0 if failure.handled else failure.code, -1
        if not code and self._leaders[place] != node:
            code = codes.NOT_LEADER_FOR_PARTITION
        batch = DefaultRecordBatch(raw)
        if not code and batch.is_transactional and batch.producer_id not in self.logs[place].open:
            code = self.transactions.verify(name, batch.producer_id, batch.producer_epoch, place)
        if not code:
            code, offset = self.logs[place].append(raw)
        code = code or failure.code
        if code == codes.TOPIC_AUTHORIZATION_FAILED:
            # As for a batch that is too large, the client sends the next one.
            self.logs[place].refused += 1
        return code, -1 if code else offset, -1, 0

    def _on_fetch(self, request: Any, node: int) -> Any:
        answer = self._fetched(request, node)
        if answer is not None:
            return answer
        waits: asyncio.Future[Any] = self._world.create_future()
        until = self._world.time() + _FETCH_SECONDS

        def look() -> None:
            if waits.done():
                return
            last = self._world.time() >= until
            answer = self._fetched(request, node, even_empty=last)
            if answer is not None:
                timer.cancel()
                waits.set_result(answer)
            else:
                listen()

        def listen() -> None:
            grown = self._world.create_future()
            grown.add_done_callback(lambda _: look(), context=OUTSIDE)
            self._waiting.append(grown)

        timer = self._world.call_at(until, look, context=OUTSIDE)
        listen()
        return waits

    def _fetched(self, request: Any, node: int, even_empty: bool = False) -> Any:
        committed, some = request.isolation_level == 1, even_empty
        failing = self.failing.pop("Fetch", Failure(0)).code
        topics = []
        for topic, partitions in request.topics:
            found = []
            for number, _, offset, _, _ in partitions:
                log, code = self.logs[topic, number], failing
                raw, aborted = b"", list[tuple[int, int]]()
                if failing:
                    pass
                elif self._leaders[topic, number] != node:
                    code = codes.NOT_LEADER_FOR_PARTITION
                elif offset > log.end:
                    code = codes.OFFSET_OUT_OF_RANGE
                else:
                    raw, aborted = log.read(offset, committed, _FETCHED_BATCHES)
                some = some or bool(code) or bool(raw)
                found.append((number, code, log.end, log.stable, 0, aborted, -1, raw))
            topics.append((topic, found))
        return (0, 0, 0, topics) if some else None

    def _on_offset(self, request: Any, node: int) -> Any:
        topics = []
        failing = self.failing.pop("Offset", Failure(0)).code
        for topic, partitions in request.topics:
            found = []
            for number, timestamp in partitions:
                log = self.logs[topic, number]
                code = failing or (0 if self._leaders[topic, number] == node else codes.NOT_LEADER_FOR_PARTITION)
                end = log.stable if request.isolation_level else log.end
                found.append((number, code, -1, 0 if timestamp == -2 else end))
            topics.append((topic, found))
        return 0, topics

    def _on_join_group(self, request: Any, node: int) -> Any:
        if code := self._misplaced("JoinGroup", request.group, node):
            return 0, code, -1, "", "", request.member_id, []
        joined = self.groups.join(
            request.group, request.member_id, request.session_timeout / 1000, request.rebalance_timeout / 1000,
            request.group_protocols,
        )  # fmt: skip
        return self._throttled(joined)

    def _on_sync_group(self, request: Any, node: int) -> Any:
        if code := self._misplaced("SyncGroup", request.group, node):
            return 0, code, b""
        synced = self.groups.sync(request.group, request.generation_id, request.member_id, request.group_assignment)
        return self._throttled(synced)

    def _throttled(self, answer: Any) -> Any:
        if not isinstance(answer, asyncio.Future):
            return 0, *answer
        later: asyncio.Future[Any] = self._world.create_future()

        def pass_on(done: asyncio.Future[Any]) -> None:
            if not done.cancelled() and not later.done():
                later.set_result((0, *done.result()))

        answer.add_done_callback(pass_on, context=OUTSIDE)
        return later

    def _on_heartbeat(self, request: Any, node: int) -> Any:
        def handle() -> int:
            if self._takes_for_its_own(request.group, node):
                return 0
            return self.groups.heartbeat(request.group, request.generation_id, request.member_id)

        return 0, self._coordinated("Heartbeat", request.group, node, handle)

    def _on_leave_group(self, request: Any, node: int) -> Any:
        group, who = request.group, request.member_id
        return 0, self._coordinated("LeaveGroup", group, node, lambda: self.groups.leave(group, who))

    def _on_offset_commit(self, request: Any, node: int) -> Any:
        offsets = {(topic, one[0]): one[1] for topic, some in request.topics for one in some}
        group, generation, who = (
            request.consumer_group, request.consumer_group_generation_id, request.consumer_id,
        )  # fmt: skip
        code = self._coordinated(
            "OffsetCommit", group, node, lambda: self.groups.commit(group, generation, who, offsets)
        )
        return 0, [(topic, [(one[0], code) for one in some]) for topic, some in request.topics]

    def _on_offset_fetch(self, request: Any, node: int) -> Any:
        group = request.consumer_group
        if self._takes_for_its_own(group, node):
            offsets = self._before[group]
        elif code := self._misplaced("OffsetFetch", group, node):
            return 0, [], code
        else:
            offsets = self.groups.fetch(group)
        topics = [
            (topic, [(number, offsets.get((topic, number), -1), "", 0) for number in numbers])
            for topic, numbers in request.topics
        ]
        return 0, topics, 0

    def _on_init_producer_id(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        if name is not None and (code := self._misplaced("InitProducerId", name, node)):
            return 0, code, -1, -1
        return 0, *self.transactions.init(name, request.transaction_timeout_ms / 1000)

    def _on_add_partitions_to_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        places = [(topic, number) for topic, numbers in request.topics for number in numbers]
        code = self._coordinated(
            "AddPartitionsToTxn", name, node,
            lambda: self.transactions.add(name, request.producer_id, request.producer_epoch, places),
        )  # fmt: skip
        # Without the right to one topic, none is added.
        others = codes.OPERATION_NOT_ATTEMPTED if code == codes.TOPIC_AUTHORIZATION_FAILED else code
        return 0, [
            (topic, [(number, others if index else code) for number in numbers])
            for index, (topic, numbers) in enumerate(request.topics)
        ]

    def _on_add_offsets_to_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        return 0, self._coordinated(
            "AddOffsetsToTxn", name, node,
            lambda: self.transactions.add(name, request.producer_id, request.producer_epoch, [], request.group_id),
        )  # fmt: skip

    def _on_txn_offset_commit(self, request: Any, node: int) -> Any:
        group, pid, epoch = request.group_id, request.producer_id, request.producer_epoch
        offsets = {(topic, one[0]): one[1] for topic, some in request.topics for one in some}

        def keep() -> int:
            known = pid in self.groups.of(group).pending
            refused = 0 if known else self.transactions.verify(request.transactional_id, pid, epoch, group)
            return refused or self.groups.commit_in_transaction(group, pid, epoch, offsets)

        code = self._coordinated("TxnOffsetCommit", group, node, keep)
        return 0, [(topic, [(one[0], code) for one in some]) for topic, some in request.topics]

    def _on_end_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        return 0, self._coordinated(
            "EndTxn", name, node,
            lambda: self.transactions.end(
                name, request.producer_id, request.producer_epoch, request.transaction_result
            ),
        )  # fmt: skip
