"""The brokers of a cluster: requests are decoded and answers encoded with the client's own protocol classes."""

from __future__ import annotations

import asyncio
import random
import re
import struct
from collections.abc import Callable
from io import BytesIO
from typing import Any

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
KEYS = {name: key for key, name in NAMES.items()}
_MIN_PORT = 9092
_FETCHED_BATCHES = 20
_FETCH_SECONDS = 0.5
"""A fetch without records waits for so long; longer than a client asks for, so that an idle run has fewer steps."""
Answer = bytes | asyncio.Future[bytes] | None


class Brokers:
    """A cluster whose nodes share one state: which node has which partition is the only difference between them."""

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
        self.failing: dict[int, int] = {}
        """Error codes for the next request of an API key, as brokers answer while they start or move."""
        self._described: dict[Any, bytes] = {}
        """The metadata by what they depend on."""
        self._waiting: list[asyncio.Future[None]] = []

    def move(self) -> None:
        """Moves every leader and coordinator to another node, if there is one."""
        if self.nodes == 1:
            return
        self._leaders = {place: (node + 1) % self.nodes for place, node in self._leaders.items()}
        self.moved += 1
        self.groups.restart()

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
            known = (self.moved, None if request.topics is None else tuple(request.topics))
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
        return (sum(name.encode()) + self.moved) % self.nodes

    def _misplaced(self, key: str, name: str, node: int) -> int:
        """An error code if the node does not coordinate, or is about to fail this request."""
        if code := self.failing.pop(KEYS[key], 0):
            return code
        return 0 if self._coordinator(name) == node else codes.NOT_COORDINATOR_FOR_GROUP

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

    def _on_find_coordinator(self, request: Any, node: int) -> Any:  # noqa: ARG002
        number = self._coordinator(request.coordinator_key)
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
        code, offset = self.failing.pop(KEYS["Produce"], 0), -1
        if not code and self._leaders[place] != node:
            code = codes.NOT_LEADER_FOR_PARTITION
        batch = DefaultRecordBatch(raw)
        if not code and batch.is_transactional and batch.producer_id not in self.logs[place].open:
            code = self.transactions.verify(name, batch.producer_id, batch.producer_epoch, place)
        if not code:
            code, offset = self.logs[place].append(raw)
        return code, offset, -1, 0

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
        failing = self.failing.pop(KEYS["Fetch"], 0)
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
        for topic, partitions in request.topics:
            found = []
            for number, timestamp in partitions:
                log = self.logs[topic, number]
                code = 0 if self._leaders[topic, number] == node else codes.NOT_LEADER_FOR_PARTITION
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
        code = self._misplaced("Heartbeat", request.group, node)
        return 0, code or self.groups.heartbeat(request.group, request.generation_id, request.member_id)

    def _on_leave_group(self, request: Any, node: int) -> Any:
        code = self._misplaced("LeaveGroup", request.group, node)
        return 0, code or self.groups.leave(request.group, request.member_id)

    def _on_offset_commit(self, request: Any, node: int) -> Any:
        offsets = {(topic, one[0]): one[1] for topic, some in request.topics for one in some}
        code = self._misplaced("OffsetCommit", request.consumer_group, node) or self.groups.commit(
            request.consumer_group, request.consumer_group_generation_id, request.consumer_id, offsets
        )
        return 0, [(topic, [(one[0], code) for one in some]) for topic, some in request.topics]

    def _on_offset_fetch(self, request: Any, node: int) -> Any:
        code = self._misplaced("OffsetFetch", request.consumer_group, node)
        offsets = self.groups.fetch(request.consumer_group)
        topics = [
            (topic, [(number, -1 if code else offsets.get((topic, number), -1), "", code) for number in numbers])
            for topic, numbers in request.topics
        ]
        return 0, topics, code

    def _on_init_producer_id(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        if name is not None and (code := self._misplaced("InitProducerId", name, node)):
            return 0, code, -1, -1
        return 0, *self.transactions.init(name, request.transaction_timeout_ms / 1000)

    def _on_add_partitions_to_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        places = [(topic, number) for topic, numbers in request.topics for number in numbers]
        code = self._misplaced("AddPartitionsToTxn", name, node) or self.transactions.add(
            name, request.producer_id, request.producer_epoch, places
        )
        return 0, [(topic, [(number, code) for number in numbers]) for topic, numbers in request.topics]

    def _on_add_offsets_to_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        return 0, self._misplaced("AddOffsetsToTxn", name, node) or self.transactions.add(
            name, request.producer_id, request.producer_epoch, [], request.group_id
        )

    def _on_txn_offset_commit(self, request: Any, node: int) -> Any:
        group, pid, epoch = request.group_id, request.producer_id, request.producer_epoch
        offsets = {(topic, one[0]): one[1] for topic, some in request.topics for one in some}
        code = self._misplaced("TxnOffsetCommit", group, node)
        if not code and pid not in self.groups.of(group).pending:
            code = self.transactions.verify(request.transactional_id, pid, epoch, group)
        code = code or self.groups.commit_in_transaction(group, pid, epoch, offsets)
        return 0, [(topic, [(one[0], code) for one in some]) for topic, some in request.topics]

    def _on_end_txn(self, request: Any, node: int) -> Any:
        name = request.transactional_id
        return 0, self._misplaced("EndTxn", name, node) or self.transactions.end(
            name, request.producer_id, request.producer_epoch, request.transaction_result
        )
