"""The bad network on the loopback."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.proxy import Proxy


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """A proxy before a server that says everything back."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, Proxy(server.sockets[0].getsockname()[1]) as made:
        yield made


async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: bytes) -> bytes:
    writer.write(words)
    return await reader.readexactly(len(words))


@pytest.mark.parametrize("weather", ["fair", "slow"])
async def test_what_is_said_comes_back(proxy: Proxy, weather: str) -> None:
    proxy.turn("slow" if weather == "slow" else "fair")
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    assert await say(reader, writer, b"hello") == b"hello"
    writer.close()


async def test_half_open_connections_are_silent_and_recover(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    await say(reader, writer, b"hello")
    proxy.turn("half_open")
    answer = asyncio.ensure_future(say(reader, writer, b"again"))
    done, _ = await asyncio.wait([answer], timeout=0.2)
    assert not done
    assert proxy.held == 1
    proxy.turn("fair")
    assert await answer == b"again"
    writer.close()


async def test_a_reset_ends_every_connection(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    await say(reader, writer, b"hello")
    proxy.reset()
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    assert proxy.resets > 0
    writer.close()
