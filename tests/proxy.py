"""A TCP proxy on the loopback that imitates a bad network: it delays, resets, and leaves connections half open."""

import asyncio
import contextlib
from types import TracebackType
from typing import Literal, Self

Weather = Literal["fair", "slow", "half_open"]


class Proxy:
    """Passes bytes between clients and one server, in the weather of the moment."""

    def __init__(self, port: int, host: str = "127.0.0.1", at: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        """Takes where the server listens, and where clients connect; at a free port by default."""
        self._to = (host, port)
        self._at = at
        self._server: asyncio.Server | None = None
        self._pairs: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._fair = asyncio.Event()
        self._fair.set()
        self.weather: Weather = "fair"
        self.resets = 0
        self.held = 0
        """Parts that arrived and were delayed or held back."""

    @property
    def port(self) -> int:
        """Where clients connect."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, *self._at)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def turn(self, weather: Weather) -> None:
        """Changes the weather. Half open: nothing is passed on and nothing is closed, as if a cable were out."""
        self.weather = weather
        if weather == "half_open":
            self._fair.clear()
        else:
            self._fair.set()

    def reset(self) -> None:
        """Resets every connection."""
        for writer in tuple(self._pairs):
            self.resets += 1
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await self._fair.wait()
            other_reader, other_writer = await asyncio.open_connection(*self._to)
            tasks = [
                asyncio.ensure_future(self._pass_requests(reader, other_writer)),
                asyncio.ensure_future(self._pass_on(other_reader, writer)),
            ]
            self._tasks.update(tasks)
            self._pairs.update((writer, other_writer))
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                self._tasks.difference_update(tasks)
                self._pairs.difference_update((writer, other_writer))
                other_writer.transport.abort()
        writer.transport.abort()

    async def _pass_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._pass_on(reader, writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._send(data, writer)

    async def _send(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        self.held += self.weather != "fair"
        if self.weather == "slow":
            await asyncio.sleep(0.15)
        await self._fair.wait()
        writer.write(data)
        await writer.drain()
