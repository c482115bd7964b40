"""Decides which HTTP requests an application answers, from the request's head.

Every route needs a host of this server (``refuse_host``). ``/query`` also needs a token or a local client (``refuse``).
Three kinds of requests look local and are not: requests that a proxy on this machine forwards, requests of a web page
in a browser on this machine, and requests to a name that a foreign DNS points at 127.0.0.1 (rebinding). If a token is
set, local clients need it too: behind a proxy all clients look local.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from schemas.addresses import web_address

Headers = Iterable[tuple[bytes, bytes]]

_PASSED_ON = (b"forwarded", b"client-ip", b"connecting-ip", b"real-ip", b"external-address")
"""Parts of the names of headers in which proxies state the client; ``via`` is another one."""
_SAME_SITE = frozenset({b"same-origin", b"none"})
"""Values of ``Sec-Fetch-Site`` for requests that no other site has caused."""

_SHOWN = 100
"""Characters of a host in an answer."""


class Refused(NamedTuple):
    status: int
    detail: str


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


def refuse(peer: str | None, headers: Headers, token: str) -> Refused | None:
    """Refuses a request without the token (401), or, if no token is set, one that is not local (403).

    The names of headers are in lower case, as in ASGI. The peer is None for a socket file.
    """
    headers = list(headers)
    if token:
        return None if _shows(headers, token) else Refused(401, "a token is needed: Authorization: Bearer TOKEN")
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


def is_loopback(host: str) -> bool:
    address = _address(host)
    if address is None:
        return host.lower() == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _is_own(host: str, allowed: Sequence[str]) -> bool:
    named = host != "" and "." not in host
    return named or _address(host) is not None or any(fnmatchcase(host, pattern.lower()) for pattern in allowed)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _shows(headers: list[tuple[bytes, bytes]], token: str) -> bool:
    shown = [value for name, value in headers if name == b"authorization"]
    if len(shown) != 1:
        return False
    scheme, _, value = shown[0].partition(b" ")
    right = hmac.compare_digest(value.strip(), token.encode())
    return scheme.lower() == b"bearer" and right


def _host(value: bytes) -> str:
    """The name or address of a Host header, without its port; "" if it is invalid, for example with a user name."""
    return "" if b"@" in value else _hostname(b"http://" + value)


def _hostname(url: bytes) -> str:
    return web_address(url.decode("ascii", "replace")).host
