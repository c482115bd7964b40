"""Which requests an application answers over HTTP.

In: a request's head as ASGI has it. Out: None, or the status and words it is refused with. Every route asks for a host
that is the server's own (``refuse_host``), and ``/query`` for more (``refuse``). Without a token only a peer
on loopback may ask, and only for itself: what a proxy on this machine passes on, what a web page in a browser here
sends, and a name that a stranger's DNS points at 127.0.0.1 (rebinding) all look local and are not. With a token
every client needs it, on this machine as well: behind a proxy the two can't be told apart.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

Headers = Iterable[tuple[bytes, bytes]]

_PASSED_ON = (b"forwarded", b"client-ip", b"connecting-ip", b"real-ip", b"external-address")
"""What names of headers have in them that proxies tell the asker with, whoever makes the proxy; and ``via``."""
_SAME_SITE = frozenset({b"same-origin", b"none"})
"""What a browser says of a request that no other site has caused."""

_SHOWN = 100
"""Characters of a host in an answer."""


class Refused(NamedTuple):
    """Why a request is not looked at."""

    status: int
    detail: str


def refuse_host(headers: Headers, allowed: Sequence[str]) -> Refused | None:
    """Whether a request is for a host that this server is not known by.

    The DNS of a web page can give the page's own name an address of this machine or network (rebinding). The page then
    reads what the server answers, but its requests have that name in ``Host``. An address can't be such a name, nor can
    a name without a dot, by which services of a composition or a cluster reach each other.

    Args:
        headers: As ASGI has them, names in lower case. Without a ``Host``, as in HTTP/1.0, no browser has sent them.
        allowed: Other names, where ``*`` stands for any characters.
    """
    for name, value in headers:
        if name == b"host" and not _is_own(host := _host(value), allowed):
            what = f"{host[:_SHOWN]!r} is no host of this server"
            return Refused(421, f"{what}; other names than addresses go into ASSAY_HTTP__ALLOWED_HOSTS")
    return None


def refuse(peer: str | None, headers: Headers, token: str) -> Refused | None:
    """Whether a request may not be answered.

    Args:
        peer: The address at the other end of the connection; None for a socket file.
        headers: As ASGI has them, names in lower case.
        token: What has to be shown; "" where only this machine may ask.

    Returns:
        None, or 401 for a missing or wrong token, and 403 where there is none and the request comes from elsewhere.
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
        if (name == b"sec-fetch-site" and value not in _SAME_SITE) or (name == b"origin" and not _is_local(value)):
            return Refused(403, "a web page of another site may not ask")
    return None


def is_loopback(host: str) -> bool:
    """Whether a host name or an address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def _is_own(host: str, allowed: Sequence[str]) -> bool:
    named = host != "" and "." not in host
    return named or _is_address(host) or any(fnmatchcase(host, pattern.lower()) for pattern in allowed)


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _shows(headers: list[tuple[bytes, bytes]], token: str) -> bool:
    shown = [value for name, value in headers if name == b"authorization"]
    if len(shown) != 1:
        return False
    scheme, _, value = shown[0].partition(b" ")
    right = hmac.compare_digest(value.strip(), token.encode())
    return scheme.lower() == b"bearer" and right


def _host(value: bytes) -> str:
    """The name or address of a Host header, without its port; "" for what is none, such as one with a user in it."""
    if b"@" in value:
        return ""
    try:
        return urlsplit(f"//{value.decode('ascii')}").hostname or ""
    except ValueError:
        return ""


def _is_local(origin: bytes) -> bool:
    try:
        return is_loopback(urlsplit(origin.decode("ascii")).hostname or "")
    except ValueError:
        return False
