"""The connections between processes and brokers: delays, lost and late frames, cuts, and the trace of a run."""

from __future__ import annotations

import asyncio
import contextvars
import math
import random
import struct
from collections import deque
from functools import partial
from typing import Any, Protocol

from tests.simulation.broker import NAMES, Brokers
from tests.simulation.world import OUTSIDE, Process, World, current_process

_LENGTH = struct.Struct(">i")
_APART = 1e-7
"""Seconds between two frames of a direction, which must not change places."""


class Faults(Protocol):
    """Decides what happens to a request."""

    def on_request(self, connection: Connection, key: str, frame: bytes) -> bool:
        """Called when a process writes a request; whether the network delivers it as usual."""
        ...

    def on_handled(self, connection: Connection, key: str) -> bool:
        """Called when a broker has handled it; whether its answer is sent."""
        ...


class Network:
    """All connections of a run."""

    def __init__(self, world: World, chance: random.Random, brokers: Brokers, slowest: float, grid: float) -> None:
        """Nothing is connected.

        Args:
            world: The event loop.
            chance: Decides delays.
            brokers: Handle requests.
            slowest: The longest delay of a frame in seconds.
            grid: Frames arrive at multiples of this time, as in a process that is woken for several at once; 0 for any
                time.
        """
        self.world = world
        self.brokers = brokers
        self.faults: Faults | None = None
        self.down = False
        """Whether connections are refused."""
        self.trace: list[tuple[float, str, str, str]] = []
        """Time, process, request, and what happened to it."""
        self._chance = chance
        self._slowest = slowest
        self._grid = grid
        self._connections: list[Connection] = []
        world.connect = self._connect

    async def _connect(self, factory: Any, port: int) -> tuple[Connection, Any]:
        await asyncio.sleep(self.arrival() - self.world.time())
        if self.down:
            raise ConnectionRefusedError("the broker is down")
        protocol = factory()
        connection = Connection(self, protocol, port)
        self._connections = [one for one in self._connections if not one.closed]
        self._connections.append(connection)
        protocol.connection_made(connection)
        return connection, protocol

    def arrival(self, after: float = 0.0) -> float:
        """When a frame arrives that is sent now, or after a while."""
        at = self.world.time() + after + 0.0003 + self._chance.random() ** 4 * self._slowest
        return at if not self._grid else math.ceil(at / self._grid) * self._grid

    def cut_all(self, of: Process | None = None) -> None:
        """Cuts the connections of a process, or of all."""
        for connection in self._connections:
            if of is None or connection.process is of:
                connection.cut()

    def note(self, process: Process | None, key: str, event: str) -> None:
        """Adds to the trace."""
        self.trace.append((round(self.world.time(), 6), process.name if process else "", key, event))


class Connection(asyncio.Transport):
    """The client's end of a connection, and the broker's queue of its requests. Each direction keeps its order."""

    def __init__(self, network: Network, protocol: asyncio.Protocol, port: int) -> None:
        """Belongs to the process that opens it."""
        super().__init__()
        self.process = current_process()
        self.closed = False
        self.silent = False
        """Whether no answer arrives any more, although no client closes it."""
        self._network = network
        self._protocol = protocol
        self.port = port
        self._context = contextvars.copy_context()
        self._sent_at = self._answered_at = 0.0
        self._queue: deque[bytes] = deque()
        self._busy = False

    def write(self, data: Any) -> None:
        """Sends one frame, as the client writes them."""
        if self.closed:
            return
        frame = bytes(data)[_LENGTH.size :]
        key = NAMES[int.from_bytes(frame[:2], "big")]
        network = self._network
        network.note(self.process, key, "sent")
        if network.faults is None or network.faults.on_request(self, key, frame):
            self.send(frame)

    def send(self, frame: bytes, after: float = 0.0) -> None:
        """Delivers a frame to the broker after a while."""
        world = self._network.world
        self._sent_at = max(self._sent_at + _APART, self._network.arrival(after))
        world.call_at(self._sent_at, self._arrive, frame, context=OUTSIDE)

    def send_late(self, frame: bytes, after: float) -> None:
        """Delivers a frame after a while, although the connection is gone by then."""
        world = self._network.world
        world.call_at(world.time() + after, self._handle_late, frame, context=OUTSIDE)

    def cut(self) -> None:
        """The connection is lost. What was sent still arrives; its answers do not."""
        if not self.closed:
            self.closed = True
            self._network.world.call_soon(
                self._protocol.connection_lost, ConnectionResetError("cut"), context=self._context
            )

    def close(self) -> None:
        """The client closes it. What it has sent still arrives."""
        if not self.closed:
            self.closed = True
            self._network.world.call_soon(self._protocol.connection_lost, None, context=self._context)

    def abort(self) -> None:
        """As ``close``."""
        self.close()

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self.closed

    def pause_reading(self) -> None:
        """What was sent arrives all the same."""

    def resume_reading(self) -> None:
        """Nothing was paused."""

    def _handle_late(self, frame: bytes) -> None:
        key = NAMES[int.from_bytes(frame[:2], "big")]
        self._network.note(self.process, key, "handled late")
        self._network.brokers.handle(frame, self.port)

    def _arrive(self, frame: bytes) -> None:
        self._queue.append(frame)
        self._next()

    def _next(self) -> None:
        """Handles the requests one after another, as a broker does with those of a connection."""
        while self._queue and not self._busy:
            frame = self._queue.popleft()
            key = NAMES[int.from_bytes(frame[:2], "big")]
            answer = self._network.brokers.handle(frame, self.port)
            self._network.note(self.process, key, "handled")
            if isinstance(answer, asyncio.Future):
                self._busy = True
                answer.add_done_callback(partial(self._resume, key), context=OUTSIDE)
            else:
                self._answer(answer, key)

    def _resume(self, key: str, done: asyncio.Future[bytes]) -> None:
        self._busy = False
        if not done.cancelled():
            self._answer(done.result(), key)
        self._next()

    def _answer(self, answer: bytes | None, key: str) -> None:
        network = self._network
        if network.faults is not None and not network.faults.on_handled(self, key):
            return
        if answer is None or self.closed or self.silent:
            return
        self._answered_at = max(self._answered_at + _APART, network.arrival())
        data = _LENGTH.pack(len(answer)) + answer
        network.world.call_at(self._answered_at, self._deliver, data, context=self._context)

    def _deliver(self, data: bytes) -> None:
        if not self.closed:
            self._protocol.data_received(data)
