"""The client over TLS: the connection goes to the checked address, the certificate is the name's."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from schemas.needs import FetchPages
from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.client import Accepts, FetchClient, Response
from streams.fetch.guard import Admitted, Target
from streams.fetch.settings import FetchSettings
from streams.fetch.worker import FetchWorker
from streams.runtime.clock import SystemClock
from tests.samples import instance
from tests.streams.fetch.web import response

CERTIFICATE = Path(__file__).parent / "site.example.pem"
"""Made for these tests, for the name ``site.example`` alone; its key opens nothing else."""
WANTED = Accepts(("text/html",), 4096)


@pytest.fixture
async def served() -> AsyncIterator[tuple[int, list[str | None]]]:
    """A port that speaks TLS, and the names that clients asked it for."""
    names: list[str | None] = []

    def note(connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        names.append(name)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response("<p>safe"))
        await writer.drain()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    context.sni_callback = note
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], names


async def get(port: int, host: str, trusting: bool = True) -> Response | FetchRefused:
    trusted = ssl.create_default_context(cafile=str(CERTIFICATE)) if trusting else None
    async with aclosing(FetchClient(FetchSettings(), SystemClock(), trusted)) as client:
        target = Target("https", host, 443, "/")
        return await client.get(Admitted(target, (("127.0.0.1", port),)), WANTED)


async def test_the_name_that_was_asked_for_is_the_one_in_the_handshake(served: tuple[int, list[str | None]]) -> None:
    port, names = served
    found = instance(Response, await get(port, "site.example"))
    assert (found.status, found.body) == (200, b"<p>safe")
    assert names == ["site.example"]


async def test_certificates_of_other_names_or_authorities_are_refused(
    served: tuple[int, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    port, _ = served
    for host, trusting in (("other.example", True), ("127.0.0.1", True), ("site.example", False)):
        found = instance(FetchRefused, await get(port, host, trusting))
        assert found.reason is FetchFailure.UNREACHABLE
        assert found.detail.startswith("the certificate is not trusted: "), found.detail
    settings = FetchSettings(resolve={"site.example": f"127.0.0.1:{port}"}, attempts=1, cache_path=None)
    async with FetchWorker(settings) as worker:
        [page] = (await worker.fetch(FetchPages(("https://site.example/",), ""))).pages
    why = "the certificate is not trusted: self-signed certificate"
    assert instance(FetchRefused, page).detail == f"robots.txt of https://site.example: {why}"


async def test_next_address_is_tried_after_a_refused_connection(served: tuple[int, list[str | None]]) -> None:
    port, _ = served
    trusted = ssl.create_default_context(cafile=str(CERTIFICATE))
    async with aclosing(FetchClient(FetchSettings(), SystemClock(), trusted)) as client:
        places = (("127.0.0.1", 1), ("127.0.0.1", port))
        found = await client.get(Admitted(Target("https", "site.example", 443, "/"), places), WANTED)
    assert isinstance(found, Response)
