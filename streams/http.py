"""The application's HTTP answers on a port of their own: /metrics, /healthz, /readyz, /query."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from typing import Any, Self

import structlog
import uvicorn

from streams.settings import HttpSettings

log = structlog.get_logger(__name__)


class PortTakenError(Exception):
    """The address that the settings name can't be listened on; mostly somebody else has the port."""


class _Uvicorn(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals to the application: uvicorn would exit 143 after a clean stop."""
        yield


class HttpServer:
    """Serves an ASGI application while the block runs.

    A port that nobody asked for and that is taken is replaced by a free one; a port that the settings name is not.
    """

    def __init__(self, asgi: Any, settings: HttpSettings) -> None:
        """Takes what to serve and where."""
        self._asgi = asgi
        self._settings = settings
        self._open: tuple[socket.socket, _Uvicorn, asyncio.Task[None]] | None = None
        self.address = ""
        """``host:port`` once it listens; "" where HTTP is off."""

    async def __aenter__(self) -> Self:
        """Listens.

        Raises:
            PortTakenError: With what to do.
        """
        if self._settings.enabled:
            listener = self._listen()
            host, port = listener.getsockname()[:2]
            self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            # Who asks is who is at the other end, whatever a header says.
            config = uvicorn.Config(self._asgi, lifespan="off", log_config=None, access_log=False, proxy_headers=False)
            server = _Uvicorn(config)
            self._open = listener, server, asyncio.create_task(server.serve(sockets=[listener]), name="http")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stops listening and waits for answers under way."""
        if self._open is None:
            return
        listener, server, task = self._open
        server.should_exit = True
        try:
            await task
        finally:
            # uvicorn has closed all of them, but where the wait was given up, and has none yet where it never began.
            for listening in getattr(server, "servers", ()):
                listening.close()
            listener.close()
            for answering in server.server_state.tasks:
                answering.cancel()
            for connection in tuple(server.server_state.connections):
                connection.transport.abort()

    def _listen(self) -> socket.socket:
        wanted = self._settings
        named = "port" in wanted.model_fields_set
        family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
        try:
            return socket.create_server((wanted.host, wanted.port), family=family)
        except OSError as error:
            if named or error.errno != errno.EADDRINUSE:
                why = os.strerror(error.errno or 0)
                raise PortTakenError(
                    f"cannot listen on {wanted.host}:{wanted.port} ({why}); set ASSAY_HTTP__PORT to a free "
                    "port, to 0 for any, ASSAY_HTTP__HOST to an address of this machine, or ASSAY_HTTP__ENABLED=false"
                ) from None
            log.warning("port is taken, taking a free one", port=wanted.port)
            return socket.create_server((wanted.host, 0), family=family)
