r"""Reads web addresses as browsers do (WHATWG URL): every part of Assay uses these values.

RFC 3986 reads some addresses otherwise: in ``https://a.example\@b.example/`` browsers open ``a.example``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

import ada_url

MAX_URL = 8192
"""Characters of an address; a longer one is malformed."""
DEFAULT_PORTS = {"http": 80, "https": 443}

_PARTS = re.compile(
    r"(https?)://(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#:\[\]]+)(?::(\d+))?(/[^?#]*)(?:\?([^#]*))?(?:#.*)?", re.ASCII
)
"""The form that the parser writes: always a path, no backslash, and ``@`` before the path only after a user."""
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_LONGEST_HOST = 253
_LEFT_OUT = re.compile(r"^[\0-\x20]+|[\t\r\n]+")
"""Characters of an address that browsers leave out."""
_USER = re.compile(
    r"((?:https?|wss?|ftp):[/\\]*|(?:[a-z][a-z0-9+.-]*:){0,3}[/\\]{2})[^/?#\\]*(?:@(?=[^/?#\\])|(?=@))", re.IGNORECASE
)
"""A user; the ``@`` remains before a missing host, whose place the path would take otherwise."""


class WebAddress(NamedTuple):
    """An http or https address; false, and all parts empty, for a text that no browser opens as a web page.

    Attributes:
        url: As browsers write it, without user information.
        host: A lower-case ASCII name without a trailing dot, or an IP address without brackets.
        port: None for the default port of the scheme.
        path: As in ``url``; "/" at least.
        query: After the question mark; "" without one.
    """

    url: str = ""
    scheme: str = ""
    host: str = ""
    port: int | None = None
    path: str = ""
    query: str = ""

    def __bool__(self) -> bool:
        """Whether it is a web page's address."""
        return bool(self.host)

    @property
    def has_plain_host(self) -> bool:
        """Whether the host is an IP address, or a name that a name server may know."""
        labels = self.host.split(".")
        return ":" in self.host or (len(self.host) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels)))

    @property
    def authority(self) -> str:
        """Host and port as in the Host header: the port only if it isn't the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


@lru_cache(maxsize=8192)
def web_address(text: str, base: str = "") -> WebAddress:
    r"""The address that a browser opens for a text, as seen from the page ``base``.

    >>> web_address(r"https://evil.example\@nature.com/x").host
    'evil.example'
    >>> web_address("../item/7#top", "https://user:secret@Example.com:443/list/").url
    'https://example.com/item/7#top'
    >>> bool(web_address("javascript://nature.com/%0a"))
    False
    """
    if len(text) > MAX_URL or "\0" in text:  # which no event holds
        return WebAddress()
    try:
        href = ada_url.join_url(base, text) if base else ada_url.normalize_url(text)
    except ValueError:
        return WebAddress()
    parts = _PARTS.fullmatch(href)
    if parts is None or ".." in f".{parts[2]}":  # no name server knows a name with an empty label
        return WebAddress()
    scheme, host, port, path, query = parts.groups("")
    return WebAddress(
        href[: len(scheme) + 3] + href[parts.start(2) :],
        scheme,
        host.removesuffix(".").strip("[]"),
        int(port) if port else None,
        path,
        query,
    )


def without_user(text: str) -> str:
    """An address without user information, which would show a password; any other text as it is.

    >>> without_user("https://user:secret@example.com/a"), without_user("ftp://user@host/"), without_user("a@b")
    ('https://example.com/a', 'ftp://host/', 'a@b')
    """
    plain = _LEFT_OUT.sub("", text) if "@" in text else ""
    return _USER.sub(r"\1", plain, count=1) if _USER.match(plain) else text


def port_of(url: str, otherwise: int = 80) -> int:
    """The port of an address of any scheme; ``otherwise`` if neither the address nor its scheme names one.

    >>> port_of("https://api.example.org/v1"), port_of("http://qdrant:6333"), port_of("redis://cache", 6379)
    (443, 6333, 6379)
    """
    address = ada_url.URL(url)
    return int(address.port or DEFAULT_PORTS.get(address.protocol[:-1], otherwise))


def ip_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is; None for a name."""
    try:
        found = ip_address(host)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, and is reached by this machine only."""
    found = ip_of(host)
    return host.lower() == "localhost" if found is None else found.is_loopback
