import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from faststream.asgi import AsgiFastStream

from streams.app.application import probe
from streams.http.checks import check_port
from streams.http.server import HttpServer, PortTakenError
from streams.pipeline.health import HealthReport
from streams.settings.model import HttpSettings

Answers = dict[str, HealthReport]
HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
WELL: Answers = {"/healthz": HealthReport(())}


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def asgi_of(verdicts: Answers) -> Any:
    return AsgiFastStream(
        asgi_routes=[(path, probe(lambda path=path: verdicts[path])) for path in verdicts],  # type: ignore[misc]
        logger=None,
    )


async def get(address: str, path: str) -> tuple[int, Any]:
    async with httpx.AsyncClient(trust_env=False) as client:
        response = await client.get(f"http://{address}{path}")
    return response.status_code, response.json()


async def test_a_probe_answers_200_or_503_with_the_problems() -> None:
    verdicts = {"/healthz": HealthReport(()), "/readyz": HealthReport(("score_page: partitions not open yet",))}
    async with HttpServer(asgi_of(verdicts), HttpSettings(port=0)) as server:
        assert await get(server.address, "/healthz") == (200, {"ok": True, "problems": []})
        assert await get(server.address, "/readyz") == (
            503,
            {"ok": False, "problems": ["score_page: partitions not open yet"]},
        )
        verdicts["/readyz"] = HealthReport(())
        assert (await get(server.address, "/readyz"))[0] == 200, "a probe asks each time"


@pytest.mark.parametrize("begun", [False, True])
async def test_cancelled_server_leaves_nothing_open(begun: bool) -> None:
    """Neither what listens, also where it has not begun to, nor the connection of an answer that is not there yet."""
    asked, ended, addresses = asyncio.Event(), asyncio.Event(), list[str]()

    async def never(_scope: Any, _receive: Any, _send: Any) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def serve() -> None:
        async with HttpServer(never, HttpSettings(port=0)) as server:
            addresses.append(server.address)
            if begun:
                await asked.wait()
            else:
                asyncio.current_task().cancel()  # type: ignore[union-attr]

    serving = asyncio.create_task(serve())
    await asyncio.sleep(0)
    if begun:
        async with httpx.AsyncClient(trust_env=False) as client:
            asking = asyncio.create_task(client.get(f"http://{addresses[0]}/"))
            await asked.wait()
            await asyncio.sleep(0)
            # The server waits for its answers now, and is cancelled.
            serving.cancel()
            with pytest.raises(httpx.HTTPError):
                await asking
            await ended.wait()
    with pytest.raises(asyncio.CancelledError):
        await serving
    with pytest.raises(httpx.ConnectError):
        await get(addresses[0], "/")


async def test_where_http_is_off_nothing_listens() -> None:
    async with HttpServer(asgi_of({}), HttpSettings(enabled=False)) as server:
        assert server.address == ""


async def test_occupied_port_is_an_error_with_advice(taken: int) -> None:
    with pytest.raises(PortTakenError) as raised:
        async with HttpServer(asgi_of({}), HttpSettings(port=taken)):
            pytest.fail("somebody else listens there")
    assert f"127.0.0.1:{taken}" in str(raised.value)
    assert "ASSAY_HTTP__PORT" in str(raised.value)


def by_default(port: int) -> HttpSettings:
    """Settings without a configured port."""
    settings = HttpSettings.model_construct(_fields_set=set(), enabled=True, host="127.0.0.1", port=port)
    assert "port" not in settings.model_fields_set
    return settings


async def test_the_default_port_gives_way_to_a_free_one(taken: int) -> None:
    async with HttpServer(asgi_of({"/healthz": HealthReport(())}), by_default(taken)) as server:
        assert server.address != f"127.0.0.1:{taken}"
        assert (await get(server.address, "/healthz"))[0] == 200


async def test_foreign_address_is_an_error_even_with_the_default_port() -> None:
    elsewhere = by_default(0).model_copy(update={"host": "192.0.2.1"})
    with pytest.raises(PortTakenError, match="ASSAY_HTTP__HOST"):
        async with HttpServer(asgi_of({}), elsewhere):
            pytest.fail("192.0.2.1 is in documentation only")


# --- clients that take their time ------------------------------------------------------------------------------------

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def sent(address: str, data: bytes) -> Stream:
    """A connection on which this much of a request was sent."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    await writer.drain()
    return reader, writer


async def rest_of(stream: Stream) -> bytes:
    """What still comes until the server closes the connection."""
    reader, writer = stream
    received = bytearray()
    try:
        async with asyncio.timeout(30):
            while chunk := await reader.read(1 << 16):
                received += chunk
    except ConnectionError:
        pass
    finally:
        writer.close()
    return bytes(received)


@pytest.mark.parametrize("begun", [b"", HEAD, BODY, HEAD + b"\r\n" + HEAD, BODY + b"some"])
async def test_a_request_that_never_ends_is_ended(begun: bytes) -> None:
    async with HttpServer(asgi_of(WELL), HttpSettings(port=0, request_seconds=0.5)) as server:
        streams = [await sent(server.address, begun) for _ in range(30)]
        assert (await get(server.address, "/healthz"))[0] == 200
        ends = await asyncio.gather(*(rest_of(stream) for stream in streams))
    answered = (HEAD + b"\r\n") in begun
    assert all(end.startswith(b"HTTP/1.1 200") is answered for end in ends)


class SmallBuffers(HttpServer):
    """Its sockets take a few thousand bytes that the client has not read; the rest waits in the process."""

    def _listen(self) -> socket.socket:
        listener = super()._listen()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return listener


@pytest.mark.parametrize(
    ("more", "parts"), [(b"", 1), (b"", 3), (b"Connection: close\r\n", 1)], ids=["whole", "in parts", "closing"]
)
@pytest.mark.parametrize("size", [48 << 10, 1 << 20])
async def test_a_client_that_does_not_read_is_ended(more: bytes, parts: int, size: int) -> None:
    ended = asyncio.Event()

    async def large(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for left in reversed(range(parts)):
            await send({"type": "http.response.body", "body": b"x" * size, "more_body": left > 0})
        ended.set()

    async with SmallBuffers(large, HttpSettings(port=0, request_seconds=0.5)) as server:
        host, _, port = server.address.rpartition(":")
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, int(port)))
            client.sendall(HEAD + more + b"\r\n")
            async with asyncio.timeout(30):
                await ended.wait()
            await asyncio.sleep(1.0)
            client.setblocking(False)
            received = await rest_of(await asyncio.open_connection(sock=client))
    assert received.startswith(b"HTTP/1.1 200")
    assert len(received) < parts * size


async def test_excess_connection_closes_the_longest_waiting_one() -> None:
    async with HttpServer(asgi_of(WELL), HttpSettings(port=0, connections=3, request_seconds=60)) as server:
        streams = [await sent(server.address, HEAD) for _ in range(40)]
        assert (await get(server.address, "/healthz"))[0] == 200
        ends = await asyncio.gather(*(rest_of(stream) for stream in streams[:38]))
        assert ends == [b""] * 38
        for stream in streams[38:]:
            stream[1].write(b"Connection: close\r\n\r\n")
            assert (await rest_of(stream)).startswith(b"HTTP/1.1 200")


async def test_no_answer_is_given_up_for_a_new_connection() -> None:
    asked, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def later(_scope: Any, _receive: Any, send: Any) -> None:
        asked.release()
        await go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async with HttpServer(later, HttpSettings(port=0, connections=2, request_seconds=60)) as server:
        asking = [asyncio.create_task(get(server.address, "/")) for _ in range(2)]
        for _ in asking:
            await asked.acquire()
        assert await rest_of(await sent(server.address, HEAD)) == b""
        go_on.set()
        assert await asyncio.gather(*asking) == [(200, {})] * 2


async def test_all_addresses_of_version_6_are_those_of_version_4_too() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    async with HttpServer(asgi_of({"/healthz": HealthReport(())}), HttpSettings(host="::", port=0)) as server:
        assert (await get(f"127.0.0.1:{server.address.rpartition(':')[2]}", "/healthz"))[0] == 200


def test_the_check_of_the_port_reports_an_occupied_one(taken: int) -> None:
    assert check_port(HttpSettings(port=taken)).state == "warn"
    # The port is the default and not configured: the server would use another one.
    assert check_port(by_default(taken)).state == "ok"
    assert check_port(HttpSettings(port=0)).state == "ok"
    assert check_port(HttpSettings(enabled=False)).detail == "off"
    assert check_port(HttpSettings(host="192.0.2.1", port=0)).state == "fail"
