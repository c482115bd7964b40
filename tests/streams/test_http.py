import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from faststream.asgi import AsgiFastStream

from streams.app import probe
from streams.http import HttpServer, PortTakenError
from streams.pipeline.health import Verdict
from streams.settings import HttpSettings

Answers = dict[str, Verdict]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody else listens."""
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
    verdicts = {"/healthz": Verdict(()), "/readyz": Verdict(("score_page: partitions not open yet",))}
    async with HttpServer(asgi_of(verdicts), HttpSettings(port=0)) as server:
        assert await get(server.address, "/healthz") == (200, {"ok": True, "problems": []})
        assert await get(server.address, "/readyz") == (
            503,
            {"ok": False, "problems": ["score_page: partitions not open yet"]},
        )
        verdicts["/readyz"] = Verdict(())
        assert (await get(server.address, "/readyz"))[0] == 200, "a probe asks each time"


async def test_the_address_is_told_and_free_again_afterwards() -> None:
    async with HttpServer(asgi_of({}), HttpSettings(port=0)) as server:
        host, _, port = server.address.partition(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
    with pytest.raises(httpx.ConnectError):
        await get(server.address, "/healthz")


@pytest.mark.parametrize("begun", [False, True])
async def test_whoever_does_not_wait_for_the_stop_leaves_nothing_open(begun: bool) -> None:
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
            # The server waits for its answers by now, and is told to leave it.
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


async def test_a_named_port_that_is_taken_is_an_error_that_says_what_to_do(taken: int) -> None:
    with pytest.raises(PortTakenError) as raised:
        async with HttpServer(asgi_of({}), HttpSettings(port=taken)):
            pytest.fail("somebody else listens there")
    assert f"127.0.0.1:{taken}" in str(raised.value)
    assert "ASSAY_HTTP__PORT" in str(raised.value)


def by_default(port: int) -> HttpSettings:
    """Settings in which nobody named the port."""
    settings = HttpSettings.model_construct(_fields_set=set(), enabled=True, host="127.0.0.1", port=port)
    assert "port" not in settings.model_fields_set
    return settings


async def test_the_default_port_gives_way_to_a_free_one(taken: int) -> None:
    async with HttpServer(asgi_of({"/healthz": Verdict(())}), by_default(taken)) as server:
        assert server.address != f"127.0.0.1:{taken}"
        assert (await get(server.address, "/healthz"))[0] == 200


async def test_an_address_of_another_machine_is_an_error_even_with_the_default_port() -> None:
    elsewhere = by_default(0).model_copy(update={"host": "192.0.2.1"})
    with pytest.raises(PortTakenError, match="ASSAY_HTTP__HOST"):
        async with HttpServer(asgi_of({}), elsewhere):
            pytest.fail("192.0.2.1 is in documentation only")


async def test_ipv6_is_understood() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    async with HttpServer(asgi_of({"/healthz": Verdict(())}), HttpSettings(host="::1", port=0)) as server:
        assert server.address.startswith("[::1]:")
        assert (await get(server.address, "/healthz"))[0] == 200
