"""Decides which HTTP requests an application answers, from the request's head.

Every route needs a host of this server (``refuse_host``). ``/query`` also needs a token or a local client (``Gate``).
Three kinds of requests look local and are not: requests that a proxy on this machine forwards, requests of a web page
in a browser on this machine, and requests to a name that a foreign DNS points at 127.0.0.1 (rebinding). If a token is
set, local clients need it too: behind a proxy all clients look local.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv6Address, ip_network
from math import ceil
from time import monotonic
from typing import NamedTuple

import structlog

from schemas.addresses import ip_of, is_loopback, web_address

log = structlog.get_logger(__name__)
Headers = Iterable[tuple[bytes, bytes]]

_PASSED_ON = (b"forwarded", b"client-ip", b"connecting-ip", b"real-ip", b"external-address")
"""Parts of the names of headers in which proxies state the client; ``via`` is another one."""
_SAME_SITE = frozenset({b"same-origin", b"none"})
"""Values of ``Sec-Fetch-Site`` for requests that no other site has caused."""

_SHOWN = 100  # characters of a host in an answer
_MOST_WRONG = 5
_PAUSE_SECONDS = 60.0  # how long a wrong token counts
_MOST_PEERS = 1000


class Refused(NamedTuple):
    status: int
    detail: str
    after_seconds: int = 0

    @property
    def headers(self) -> dict[str, str]:
        after = {"retry-after": str(self.after_seconds)} if self.after_seconds else {}
        return after | ({"www-authenticate": "Bearer"} if self.status == 401 else {})


_UNKNOWN = Refused(401, "a token is needed: Authorization: Bearer TOKEN")


def refuse_host(headers: Headers, allowed: Sequence[str]) -> Refused | None:
    """Refuses a request whose ``Host`` is not a name of this server.

    The DNS of a web page can give the page's own name an address of this machine or network (rebinding). The page can
    then read the answers of this server, but its requests have that name in ``Host``. Addresses are safe. So are names
    without a dot, which services of a composition or a cluster use for each other.

    Browsers always send ``Host``, so requests without it are safe. In ``allowed`` names, ``*`` matches any characters.
    """
    for name, value in headers:
        if name == b"host" and not _is_own(host := _host(value), allowed):
            what = f"{host[:_SHOWN]!r} is no host of this server"
            return Refused(421, f"{what}; other names than addresses go into ASSAY_HTTP__ALLOWED_HOSTS")
    return None


class Gate:
    """The rules for requests under one token; without a token, only local requests are answered.

    A peer that shows several wrong tokens has to pause, also with the right one; others need not. The same wrong token
    counts once, so a client with an old token does not keep others out.
    """

    def __init__(self, token: str, now: Callable[[], float] = monotonic) -> None:
        self.has_token = bool(token)
        self._token = token.encode()
        self._now = now
        self._wrong: dict[str, dict[int, float]] = {}
        """For each peer, wrong tokens (as hashes) and when they were shown."""

    def refuse(self, peer: str | None, headers: Headers) -> Refused | None:
        """Refuses a request without the token (401, 429), or, if no token is set, one that is not local (403).

        The names of headers are in lower case, as in ASGI. The peer is None for a socket file.
        """
        headers = list(headers)
        if not self.has_token:
            return _refuse_foreign(peer, headers)
        shown = [value.partition(b" ") for name, value in headers if name == b"authorization"]
        if len(shown) != 1 or shown[0][0].lower() != b"bearer":
            return _UNKNOWN
        return self.refuse_token(peer, shown[0][2].strip())

    def refuse_token(self, peer: str | None, given: bytes) -> Refused | None:
        """Refuses a wrong token (401), and any token while the peer has to pause (429)."""
        who, now = _network(peer), self._now()
        wrong = {guess: at for guess, at in self._wrong.get(who, {}).items() if at > now - _PAUSE_SECONDS}
        if len(wrong) >= _MOST_WRONG:
            return Refused(429, "several wrong tokens; wait", max(1, ceil(min(wrong.values()) + _PAUSE_SECONDS - now)))
        if self.has_token and hmac.compare_digest(given, self._token):
            return None
        if (guess := hash(given)) not in wrong:
            log.warning("a wrong token was shown", peer=peer)
            self._wrong.pop(who, None)
            self._wrong[who] = wrong | {guess: now}
            if len(self._wrong) > _MOST_PEERS:
                del self._wrong[next(iter(self._wrong))]
        return _UNKNOWN


def _refuse_foreign(peer: str | None, headers: list[tuple[bytes, bytes]]) -> Refused | None:
    if peer is None or not is_loopback(peer):
        return Refused(403, "only this machine may ask; set ASSAY_HTTP__TOKEN to let others in with it")
    if any(name == b"via" or any(part in name for part in _PASSED_ON) for name, _ in headers):
        return Refused(403, "a proxy has passed this on; set ASSAY_HTTP__TOKEN to let others in with it")
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) != 1 or not is_loopback(_host(hosts[0])):
        return Refused(403, "ask 127.0.0.1 or localhost by that name; others need ASSAY_HTTP__TOKEN")
    for name, value in headers:
        if (name == b"sec-fetch-site" and value not in _SAME_SITE) or (
            name == b"origin" and not is_loopback(_hostname(value))
        ):
            return Refused(403, "a web page of another site may not ask")
    return None


def _is_own(host: str, allowed: Sequence[str]) -> bool:
    named = host != "" and "." not in host
    return named or ip_of(host) is not None or any(fnmatchcase(host, pattern.lower()) for pattern in allowed)


def _network(peer: str | None) -> str:
    """What a client can't change at will: its address, or the network of an IPv6 address."""
    found = ip_of(peer or "")
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else str(found or peer)


def _host(value: bytes) -> str:
    """The name or address of a Host header, without its port; "" if it is invalid, for example with a user name."""
    return "" if b"@" in value else _hostname(b"http://" + value)


def _hostname(url: bytes) -> str:
    return web_address(url.decode("ascii", "replace")).host
