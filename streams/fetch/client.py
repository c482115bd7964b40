"""Sends one HTTP request to a checked target and returns a bounded response or a refusal.

The client uses httpx's transport, which follows no redirects, keeps no cookies and reads no proxy from the environment.
It connects to the address that the guard checked, with the requested name in the Host header, SNI and certificate.
Connections are not reused: two names may share an address but never a connection.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from schemas.addresses import web_address, without_user
from schemas.pages import MAX_CONTENT_TYPE
from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.cache import UNVERSIONED, Version
from streams.fetch.guard import Admitted, Target
from streams.fetch.settings import FetchSettings
from streams.runtime.clock import Clock

_PLACES_TRIED = 3
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,256}"')
_HTTP_DATE = re.compile(r"[A-Za-z]{3}, [0-9]{2} [A-Za-z]{3} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT")
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^`|~\w-]{1,60}/[!#$%&'*+.^`|~\w-]{1,60}", re.ASCII)
_UNPACKED = frozenset(("gzip", "x-gzip", "deflate"))
_PACKINGS = _UNPACKED | {"br", "zstd", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm"}
"""Content codings (IANA). Like browsers, the client ignores other values, such as charsets."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response. The body is decoded, and empty unless the status is 2xx.

    The names of headers are in lower case. Of a repeated header it has the last; ``content-type`` is cut to
    ``MAX_CONTENT_TYPE``. ``latency`` is in seconds until the head arrived.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    latency: float

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def location(self, url: str) -> str | None:
        """The target of a redirect from ``url``, not checked; None if the response is not a redirect."""
        target = self.headers.get("location", "")
        if self.status not in _REDIRECTS or not target:
            return None
        return web_address(target, url).url or without_user(target)

    def version(self) -> Version:
        """The version that the response names. Other text is ignored, because it would be sent back."""
        etag, last_modified = self.headers.get("etag", ""), self.headers.get("last-modified", "")
        return Version(
            etag if _ENTITY_TAG.fullmatch(etag) else "", last_modified if _HTTP_DATE.fullmatch(last_modified) else ""
        )


@dataclass(frozen=True, slots=True)
class Accepts:
    """The responses that a caller accepts: media types (None for any) and the size of the body, as sent and decoded.

    A longer body is refused, or ``cut``. If a version is in the cache, the server may answer 304 (not modified).
    """

    types: tuple[str, ...] | None
    max_bytes: int
    cut: bool = False
    unless: Version = UNVERSIONED


class FetchClient:
    def __init__(self, settings: FetchSettings, clock: Clock, verify: ssl.SSLContext | None = None) -> None:
        """Opens no connection yet. ``verify`` None trusts the certifi bundle."""
        self._settings = settings
        self._clock = clock
        self._requests = asyncio.Semaphore(settings.parallel)
        self._transport = httpx.AsyncHTTPTransport(
            verify=verify if verify is not None else True,
            trust_env=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def get(self, admitted: Admitted, wanted: Accepts) -> Response | FetchRefused:
        """Sends one GET request and follows no redirect. Network errors are refusals; cancellation passes through.

        Refusals are ``UNREACHABLE``, ``TIMEOUT``, ``TOO_LARGE`` and ``NOT_HTML`` (a media type or coding that was
        not requested).
        """
        url = admitted.target.url
        refused = FetchRefused(url, FetchFailure.UNREACHABLE)
        async with self._requests:
            for place in admitted.places[:_PLACES_TRIED]:
                try:
                    async with asyncio.timeout(self._settings.total_seconds):
                        return await self._exchange(admitted.target, place, wanted)
                except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                    refused = _refused(url, error)
                except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, zlib.error) as error:
                    return _refused(url, error)
        return refused

    async def _exchange(self, target: Target, place: tuple[str, int], wanted: Accepts) -> Response | FetchRefused:
        started = self._clock.monotonic()
        async with asyncio.timeout(self._settings.first_byte_seconds):
            response = await self._transport.handle_async_request(self._request(target, place, wanted))
        try:
            latency = self._clock.monotonic() - started
            headers = {name.lower(): value for name, value in response.headers.multi_items()}
            if (content_type := headers.get("content-type")) is not None:
                headers["content-type"] = content_type[:MAX_CONTENT_TYPE]
            codings = response.headers.get("content-encoding", "").split(",")
            packings = [name for part in codings if (name := part.strip().lower()) in _PACKINGS]
            if not 200 <= response.status_code < 300:
                return Response(response.status_code, headers, b"", latency)
            if (why := _why_not_wanted(headers, packings, wanted)) is not None:
                return FetchRefused(target.url, *why)
            unpack = _Unpack(packings[0] if packings else "")
            body = await _read(response, wanted, unpack)
            if body is None:
                return FetchRefused(target.url, FetchFailure.TOO_LARGE, f"more than {wanted.max_bytes} bytes")
            if unpack.broke_off and headers.keys().isdisjoint(("content-length", "transfer-encoding")):
                # Without these headers only the coding shows that the connection ended too early.
                return FetchRefused(target.url, FetchFailure.UNREACHABLE, "the body breaks off")
            return Response(response.status_code, headers, body, latency)
        finally:
            await response.aclose()

    def _request(self, target: Target, place: tuple[str, int], wanted: Accepts) -> httpx.Request:
        address, port = place
        headers = {
            "Host": target.authority,
            "User-Agent": self._settings.user_agent,
            "Accept": "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1",
            "Accept-Encoding": "gzip, deflate",
            "Connection": "close",
        }
        if self._settings.accept_language:
            headers["Accept-Language"] = self._settings.accept_language
        if wanted.unless.etag:
            headers["If-None-Match"] = wanted.unless.etag
        if wanted.unless.last_modified:
            headers["If-Modified-Since"] = wanted.unless.last_modified
        limits = {"connect": self._settings.connect_seconds, "read": self._settings.first_byte_seconds}
        return httpx.Request(
            "GET",
            httpx.URL(scheme=target.scheme, host=address, port=port, raw_path=target.path.encode("ascii")),
            headers=headers,
            extensions={"sni_hostname": target.host, "timeout": limits},
        )


def _why_not_wanted(
    headers: Mapping[str, str], packings: list[str], wanted: Accepts
) -> tuple[FetchFailure, str] | None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if wanted.types is not None and kind and kind not in wanted.types:
        return FetchFailure.NOT_HTML, kind if _MEDIA_TYPE.fullmatch(kind) else "the content type is no media type"
    if len(packings) > 1 or not _UNPACKED.issuperset(packings):
        return FetchFailure.NOT_HTML, f"packed as {', '.join(packings)[:40]}"
    length = headers.get("content-length", "")
    if not wanted.cut and length.isascii() and length.isdigit() and int(length[:20]) > wanted.max_bytes:
        return FetchFailure.TOO_LARGE, f"{length[:20]} bytes announced"
    return None


async def _read(response: httpx.Response, wanted: Accepts, unpack: _Unpack) -> bytes | None:
    """The decoded body; None if it is too large. Stops reading as soon as that is known."""
    body = bytearray()
    on_the_wire = 0
    async for chunk in response.aiter_raw():
        on_the_wire += len(chunk)
        body += unpack.feed(chunk, wanted.max_bytes + 1 - len(body))
        if len(body) > wanted.max_bytes or on_the_wire > wanted.max_bytes:
            return bytes(body[: wanted.max_bytes]) if wanted.cut else None
    return bytes(body)


class _Unpack:
    """Decodes in pieces and never above the limit: a small body may decode to gigabytes."""

    def __init__(self, packing: str) -> None:
        self._packing = packing
        self._inflate: zlib._Decompress | None = None

    def feed(self, data: bytes, room: int) -> bytes:
        if not self._packing:
            return data
        out = bytearray()
        while data and len(out) < room:
            if self._inflate is None:
                self._inflate = zlib.decompressobj(self._window_bits(data))
            out += self._inflate.decompress(data, room - len(out))
            if not self._inflate.eof:
                break
            # A gzip body may have several members; data after the last one is padding.
            data = self._inflate.unused_data
            if not data.startswith(b"\x1f\x8b"):
                break
            self._inflate = None
        return bytes(out)

    @property
    def broke_off(self) -> bool:
        return self._inflate is not None and not self._inflate.eof

    def _window_bits(self, data: bytes) -> int:
        if self._packing != "deflate":
            return zlib.MAX_WBITS | 16
        # Some servers send raw deflate, some zlib; the first byte shows which.
        return zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS


def _refused(url: str, error: Exception) -> FetchRefused:
    late = isinstance(error, httpx.TimeoutException | TimeoutError)
    reason = FetchFailure.TIMEOUT if late else FetchFailure.UNREACHABLE
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    if cause is not None:
        return FetchRefused(url, reason, f"the certificate is not trusted: {cause.verify_message}")
    # A colon is followed by what the server sent.
    words = str(error).partition(":")[0] if isinstance(error, httpx.RemoteProtocolError) else str(error)
    return FetchRefused(url, reason, f"{type(error).__name__}: {words}"[:200].rstrip(": "))
