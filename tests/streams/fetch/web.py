"""A small real web server on loopback for the tests of the fetch worker: routes by path, counted by host and path."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
HTML = "text/html; charset=utf-8"


class Web:
    """What is served: ``routes[path]`` is bytes to send as they are, or a function that writes them."""

    def __init__(self) -> None:
        self.routes: dict[str, bytes | Answer] = {}
        self.seen: Counter[str] = Counter()
        self.hosts: list[str] = []
        self.heads: list[str] = []
        self.port = 0

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            self.seen[path] += 1
            self.heads.append(head)
            self.hosts += [line[6:].strip() for line in head.split("\r\n") if line.lower().startswith("host: ")]
            route = self.routes.get(path, response("no such page", status=404))
            if isinstance(route, bytes):
                writer.write(route)
                await writer.drain()
            else:
                await route(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def response(body: str | bytes, status: int = 200, content_type: str = HTML, **headers: str) -> bytes:
    """A whole HTTP response; underscores in header names mean hyphens."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} Some", f"Content-Length: {len(data)}", f"Content-Type: {content_type}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


def in_turn(*answers: bytes) -> Answer:
    """Sends one answer after another."""
    remaining = iter(answers)

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(next(remaining))
        await writer.drain()

    return answer


async def hangs(_: asyncio.StreamWriter) -> None:
    """Sends nothing for as long as anybody waits."""
    await asyncio.sleep(60)


@asynccontextmanager
async def serving() -> AsyncIterator[Web]:
    """Serves while the block runs."""
    web = Web()
    server = await asyncio.start_server(web.answer, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        # From Python 3.12 on, to wait for its end means to wait for every answer, also for those that hang.
        server.close()
