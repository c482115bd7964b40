"""The application's HTTP answers on a port of their own: /metrics, /healthz, /readyz, /query."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator
from typing import Any, Self

import h11
import structlog
import uvicorn
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from streams.http.gate import refuse_host
from streams.settings.model import HttpSettings

log = structlog.get_logger(__name__)


class PortTakenError(Exception):
    """The configured address can't be listened on; usually another process has the port."""


class _Uvicorn(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the application: uvicorn would exit 143 after a clean stop."""
        yield


class _Connection(H11Protocol):
    """A connection with a deadline for the client.

    The time runs while a request is incomplete, while the client does not read, and while a closed connection still has
    bytes to send; bytes that arrive do not extend it. It does not run while an answer is computed.
    """

    settings: HttpSettings
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.settings.connections:
            # The newest connection may be a health probe, so an older one is closed.
            waited_for = [peer for peer in self.connections if isinstance(peer, _Connection) and peer._deadline]
            min(waited_for, key=lambda peer: peer._deadline.when() if peer._deadline else 0)._end()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        """Starts the deadline when the server waits for the client, and stops it otherwise."""
        incomplete = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if not (incomplete or self.flow.write_paused or self.transport.is_closing()):
            self._stop_timer()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.settings.request_seconds, self._end)

    def _stop_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._stop_timer()
        self.connections.discard(self)
        self.transport.abort()


class HttpServer:
    """Serves an ASGI application while the block runs.

    If the default port is taken, a free one is used; a configured port is not replaced. A request for another host than
    the server's own is refused on every path (``refuse_host``).
    """

    def __init__(self, asgi: Any, settings: HttpSettings, port_setting: str = "ASSAY_HTTP__PORT") -> None:
        self._asgi = asgi
        self._settings = settings
        self._port_setting = port_setting
        self._open: tuple[socket.socket, _Uvicorn, asyncio.Task[None]] | None = None
        self.address = ""  # ``host:port`` once it listens; "" if HTTP is off

    async def __aenter__(self) -> Self:
        """Listens. Raises PortTakenError, which says what to do."""
        if self._settings.enabled:
            listener = self._listen()
            host, port = listener.getsockname()[:2]
            self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

            class Connection(_Connection):
                settings = self._settings

            config = uvicorn.Config(
                self._checked,
                http=Connection,
                ws="none",
                interface="asgi3",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,  # the address of a client is that of its connection, whatever a header says
            )
            server = _Uvicorn(config)
            self._open = listener, server, asyncio.create_task(server.serve(sockets=[listener]), name="http")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._open is None:
            return
        listener, server, task = self._open
        server.should_exit = True
        try:
            await task
        finally:
            # uvicorn has closed them, unless the wait was cancelled; a server that did not start has none.
            for listening in getattr(server, "servers", ()):
                listening.close()
            listener.close()
            for answering in server.server_state.tasks:
                answering.cancel()
            for connection in tuple(server.server_state.connections):
                connection.transport.abort()

    async def _checked(self, scope: Any, receive: Any, send: Any) -> None:
        refused = refuse_host(scope["headers"], self._settings.allowed_hosts)
        if refused is not None:
            response = JSONResponse({"reason": "forbidden", "detail": refused.detail}, refused.status)
            await response(scope, receive, send)
        else:
            await self._asgi(scope, receive, send)

    def _listen(self) -> socket.socket:
        wanted = self._settings
        named = "port" in wanted.model_fields_set
        family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
        # All addresses are also those of version 4, at which the commands of this machine ask.
        both = wanted.host == "::" and socket.has_dualstack_ipv6()
        try:
            return socket.create_server((wanted.host, wanted.port), family=family, dualstack_ipv6=both)
        except OSError as error:
            if named or error.errno != errno.EADDRINUSE:
                why = str(error.strerror).partition(" (")[0]
                raise PortTakenError(
                    f"cannot listen on {wanted.host}:{wanted.port} ({why}); set {self._port_setting} to a free port, or"
                    " to 0 for any, or ASSAY_HTTP__HOST to an address of this machine"
                ) from None
            log.warning("port is taken, taking a free one", port=wanted.port)
            return socket.create_server((wanted.host, 0), family=family, dualstack_ipv6=both)
