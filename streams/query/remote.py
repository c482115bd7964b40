"""Sends queries to an application over HTTP: the owner of the embedded index, or a named one."""

from __future__ import annotations

import json
from typing import get_args

import httpx2
from typing_extensions import override

from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted
from streams.query.engine import Queries, Refusal
from streams.runtime.server_address import ServerAddress, without_secret
from streams.telemetry.labels import RefusalReason

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
