"""Finds the process that answers a command's queries: this process, or the owner of an embedded index.

A Qdrant server is searched directly. Embedded files belong to one process: if they are free, this process opens them;
if an application has them, it is asked over HTTP; if another command has them, this one waits. Reading creates nothing:
a missing index is reported.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import get_args

import httpx2
from typing_extensions import override

from schemas.addresses import is_loopback, web_address
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.index.ports import IndexDownError, IndexOwnedError, IndexSettingsError
from streams.index.settings import has_collection
from streams.pipeline.services import LiveServices
from streams.query.engine import Queries, QueryEngine, Refusal, query_handler
from streams.runtime.server_address import ServerAddress, without_secret
from streams.settings.model import HttpSettings, Settings
from streams.telemetry.labels import RefusalReason
from streams.workers.handler_jobs import forked_pool
from streams.workers.pool import WorkerPool

APPLICATION = ServerAddress("ASSAY_HTTP__TOKEN", "http://127.0.0.1:8080")  # the type of an application's address
_CONNECT_SECONDS = 5.0
_MARGIN_SECONDS = 5.0  # added to the application's own time limit, so the application reports the timeout
_LARGEST_BYTES = 64 * 1024 * 1024


class RemoteQueries(Queries):
    def __init__(self, url: str, token: str, seconds: float, hint: str = "") -> None:
        """Opens nothing. The URL may end in ``/query``. ``seconds`` is the application's own limit for a query.

        ``hint`` is appended to the error if no application of this kind answers.
        """
        self.url = url.rstrip("/").removesuffix("/query") + "/query"
        self._token = token
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self._timeout = httpx2.Timeout(seconds + _MARGIN_SECONDS, connect=_CONNECT_SECONDS)
        self._hint = hint

    @override
    async def answer(self, request: RankingRequested) -> RankingCompleted | Refusal:
        headers = {"content-type": "application/json", **self._headers}
        try:
            async with (
                httpx2.AsyncClient(timeout=self._timeout, trust_env=False) as client,
                client.stream("POST", self.url, content=request.to_json(), headers=headers) as response,
            ):
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > _LARGEST_BYTES:
                        return Refusal("failed", f"what {self.url} answers is longer than any answer of Assay")
                return self._read(response, bytes(body))
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            why = str(error) or type(error).__name__
            return Refusal("unavailable", f"no answer from {self.url} ({why}){self._hint}")

    def _read(self, response: httpx2.Response, body: bytes) -> RankingCompleted | Refusal:
        status = response.status_code
        if status == 200:
            try:
                return RankingCompleted.model_validate_json(body)
            except ValueError:
                return Refusal("failed", f"what answers at {self.url} is no Assay of this version{self._hint}")
        reason, detail = _stated(body)
        detail = without_secret(detail, self._token)
        if status in (401, 403):
            return Refusal("failed", f"{self.url} refuses: {detail or status} (ASSAY_HTTP__TOKEN is what is shown)")
        if status == 404:
            return Refusal("failed", f"{self.url}: {detail or 'this server answers no queries'}{self._hint}")
        if reason is None:
            return Refusal("failed", f"{self.url} answers with status {status}: {detail or 'no reason given'}")
        after = response.headers.get("retry-after", "")
        return Refusal(reason, detail, float(after) if after.isascii() and after.isdigit() else None)


def _stated(body: bytes) -> tuple[RefusalReason | None, str]:
    try:
        stated = json.loads(body)
        reason, detail = stated["reason"], str(stated["detail"])[:1000]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, ""
    return reason if reason in get_args(RefusalReason) else None, detail


PATIENCE_SECONDS = 10.0  # how long to wait for embedded files of a process that answers no queries
_AGAIN_SECONDS = 0.25


class NoQueriesError(Exception):
    """No process can answer queries; the message says what to do."""


@asynccontextmanager
async def open_queries(
    settings: Settings,
    *,
    app: str = "",
    own_candidates: bool = False,
    services: LiveServices | None = None,
    pool: WorkerPool | None = None,
) -> AsyncIterator[Queries]:
    """Opens queries for the block.

    Args:
        settings: The configuration.
        app: Address of an application (``APPLICATION``); "" to find a process that can answer.
        own_candidates: Whether requests have their own candidates, so no index is needed.
        services: Answers the requests of the handler in this process; if None, services are opened and closed here. The
            index is closed in any case, because other commands may wait for it.
        pool: Child processes for the handler; if None, one is forked, so the process must not have threads yet.

    Raises:
        NoQueriesError: There is no index, or it can't be used.
        SettingsError: Sections of the configuration don't go together.
    """
    token = settings.http.token.get_secret_value()
    if app:
        yield RemoteQueries(app, token, settings.query.seconds)
        return
    own = services or LiveServices(settings, at_once=True)
    ranker = query_handler()
    try:
        # Children start before the index is opened, because a process with threads should not fork.
        forked = None if pool else forked_pool([(ranker, settings.rules(ranker.rules))], settings.workers)
        async with forked or nullcontext():
            owner = "" if own_candidates else await _owner(settings, own)
            if owner:
                yield RemoteQueries(application_url(settings.http), token, settings.query.seconds, owner)
            else:
                yield QueryEngine(settings, own, pool=pool or forked)
    finally:
        if services is None:
            await own.aclose()
        else:
            await own.close_index()


def application_url(http: HttpSettings) -> str:
    host = http.host if is_loopback(http.host) else "127.0.0.1"
    return f"http://[{host}]:{http.port}" if ":" in host else f"http://{host}:{http.port}"


async def _owner(settings: Settings, services: LiveServices) -> str:
    """Empty if this process has opened the index; otherwise what to do if its owner can't be reached."""
    index = settings.index
    otherwise = "; name its address with --app or ASSAY_HTTP__PORT, or a Qdrant server for both with ASSAY_INDEX__URL"
    if not index.url:
        if index.path is None:
            return f": the index is in the memory of the application{otherwise}"
        if not has_collection(index):
            here = f"there is no index at {index.path.resolve()}"
            if settings.http.port and await _listens(settings.http):
                return f"; {here} either{otherwise}"
            raise NoQueriesError(
                f"{here} yet, and no worker answers at {application_url(settings.http)}: `assay run` fills an index "
                "from the pages it is given (docs/tutorial.md); another one is named with ASSAY_INDEX__PATH or "
                "ASSAY_INDEX__URL, a worker with --app"
            )
    try:
        if not await _is_given(services, settings.http):
            return f": another process owns the index at {index.path}{otherwise}"
    except IndexDownError as error:
        where = f"is the server at {index.url} up, and is that its address (ASSAY_INDEX__URL)?" if index.url else ""
        raise NoQueriesError(f"the index can't be read: {error} {where}".rstrip()) from error
    except IndexSettingsError as error:
        raise NoQueriesError(str(error)) from error
    return ""


async def _is_given(services: LiveServices, http: HttpSettings) -> bool:
    """Opens the index. Returns False if an application owns it, or another process keeps it for too long.

    A command owns the index while its query runs and can't be asked, so this process waits for it.
    """
    ends = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            await services.open_index(make=False)
        except IndexOwnedError:
            if await _listens(http) or time.monotonic() >= ends:
                return False
            await asyncio.sleep(_AGAIN_SECONDS)
        else:
            return True


async def _listens(http: HttpSettings) -> bool:
    place = web_address(application_url(http)).host, http.port
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(*place), _AGAIN_SECONDS * 4)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True
