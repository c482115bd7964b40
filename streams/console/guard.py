"""Decides what a request to the console may do, and gives every answer the same security headers.

Every request needs a host of this server. A page of another site can link to a screen and do nothing else. Reading
needs no token by default, because the port is open to the operator's network only; an action needs the token of
``http.token``, in the header ``Authorization`` or in a cookie that the login sets.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from streams.http.gate import Gate, Refused, refuse_host

COOKIE: Final = "assay_console"
_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    # Other sites get no referrer. With "no-referrer", a browser would also hide the origin of our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_OWN = frozenset({"same-origin", "none"})
_MAX_TOKEN = 1000
_MAX_FORM = 20_000  # bytes of the form of an action
_OPEN = frozenset({"/sign-in", "/healthz"})  # paths that need no token, also if reading does

Endpoint = Callable[[Request], Awaitable[Response]]


class Guard:
    """The rules for requests under one token; without a token no action is possible."""

    def __init__(self, token: str, allowed_hosts: tuple[str, ...], *, reading_needs_token: bool = False) -> None:
        self.has_token = bool(token)
        self._gate = Gate(token)
        self.reading_needs_token = reading_needs_token
        self._hosts = allowed_hosts
        # The cookie proves the token and does not contain it.
        self._cookie = hmac.new(token.encode(), b"assay console", sha256).hexdigest() if token else ""

    def refuse(self, connection: HTTPConnection) -> Refused | None:
        """Refuses a request for another host, and one that a page of another site makes, except by a link."""
        headers = connection.headers
        if refused := refuse_host(headers.raw, self._hosts):
            return refused
        if "transfer-encoding" in headers:
            return Refused(411, "the request does not give its length")  # the limits of forms are of lengths
        linked = connection.scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        foreign = headers.get("sec-fetch-site", "none") not in _OWN and not linked
        host, origin = headers.get("host", ""), headers.get("origin")
        if foreign or (origin is not None and origin.partition("://")[2] != host):
            return Refused(403, "a page of another site may not ask")
        return None

    def may_act(self, connection: HTTPConnection) -> bool:
        """Whether the request shows the token, by a header or by the cookie of the login."""
        if not self.has_token:
            return False
        if "authorization" in connection.headers:
            return self._gate.refuse(_peer(connection), connection.headers.raw) is None
        return hmac.compare_digest(connection.cookies.get(COOKIE, "").encode(), self._cookie.encode())

    def acting(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint for requests that may act and are short; others get 401, or 403 if there is no token at all."""

        async def guarded(request: Request) -> Response:
            if not self.has_token:
                return PlainTextResponse("This console only shows; ASSAY_HTTP__TOKEN allows actions.", 403)
            if not self.may_act(request):
                return PlainTextResponse("Sign in with the token of ASSAY_HTTP__TOKEN first.", 401)
            if "authorization" not in request.headers and "origin" not in request.headers:
                return PlainTextResponse("The request does not name its origin.", 403)
            return form_too_large(request, _MAX_FORM) or await endpoint(request)

        return guarded

    def sign_in(self, request: Request, response: Response, given: str) -> Refused | None:
        refused = self._gate.refuse_token(_peer(request), given[:_MAX_TOKEN].encode("utf-8", "replace"))
        if refused is None:
            secure = request.url.scheme == "https"
            response.set_cookie(COOKIE, self._cookie, httponly=True, samesite="strict", secure=secure)
        return refused

    def _may_read(self, connection: HTTPConnection) -> bool:
        path = connection.scope["path"]
        return not self.reading_needs_token or path in _OPEN or path.startswith("/static/") or self.may_act(connection)

    def wrap(self, app: Any) -> Any:
        async def answer(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return

            async def with_headers(message: Any) -> None:
                if message["type"] == "http.response.start":
                    headers = MutableHeaders(scope=message)
                    for name, value in _HEADERS.items():
                        headers.setdefault(name, value)
                await send(message)

            connection = HTTPConnection(scope)
            refused = self.refuse(connection)
            if refused is not None:
                target: Any = PlainTextResponse(refused.detail, refused.status)
            elif self._may_read(connection):
                target = app
            elif connection.headers.get("sec-fetch-mode", "navigate") != "navigate":
                target = PlainTextResponse("Sign in first.", 401)  # a part of a page must not be the sign-in
            else:
                url = connection.url
                asked = url.path + (f"?{url.query}" if url.query else "")
                target = RedirectResponse("/sign-in?" + urlencode({"next": asked}), 303)
            await target(scope, receive, with_headers)

        return answer


def _peer(connection: HTTPConnection) -> str | None:
    return connection.client.host if connection.client else None


def form_too_large(request: Request, most: int, problem: str = "The form is too long.") -> Response | None:
    """The refusal of a form that has more than ``most`` bytes; None for any other form."""
    # A body without a length is refused above, so a request without one has no body.
    if int(request.headers.get("content-length", 0)) > most:
        return PlainTextResponse(problem, 413)
    return None
