"""Reads web addresses as browsers do (WHATWG URL): every part of Assay uses these values.

RFC 3986 reads some addresses otherwise: in ``https://a.example\\@b.example/`` browsers open ``a.example``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import ada_url

MAX_URL = 8192
"""Characters of an address; a longer one is malformed."""
DEFAULT_PORTS = {"http": 80, "https": 443}

_PARTS = re.compile(
    r"(https?)://(?:[^/?#@]*@)?(\[[0-9a-f:.]+\]|[^/?#:\[\]]+)(?::(\d+))?(/[^?#]*)(?:\?([^#]*))?(?:#.*)?", re.ASCII
)
"""The form that the parser writes: no backslash, no user information but before ``@``, and always a path."""
_USER = re.compile(r"^([a-z][a-z0-9+.-]*:[/\\]*)[^/?#\\]*@", re.IGNORECASE)


class WebAddress(NamedTuple):
    """An http or https address with a host.

    Attributes:
        url: As browsers write it, without user information.
        host: A lower-case ASCII name without a trailing dot, or an IP address without brackets.
        port: None for the default port of the scheme.
        path: As in ``url``; "/" at least.
        query: After the question mark; "" without one.
    """

    url: str
    scheme: str
    host: str
    port: int | None
    path: str
    query: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port is None else f"{self.scheme}://{host}:{self.port}"


@lru_cache(maxsize=8192)
def web_address(text: str, base: str = "") -> WebAddress | None:
    r"""The address that a browser opens for a text, as seen from a page; None if that is no web page.

    >>> web_address(r"https://evil.example\@nature.com/x").host
    'evil.example'
    >>> web_address("../item/7#top", "https://user:secret@Example.com:443/list/").url
    'https://example.com/item/7#top'
    >>> web_address("javascript://nature.com/%0a") is None
    True
    """
    if len(text) > MAX_URL:
        return None
    try:
        href = ada_url.join_url(base, text) if base else ada_url.normalize_url(text)
    except ValueError:
        return None
    parts = _PARTS.fullmatch(href)
    if parts is None:
        return None
    scheme, host, port, path, query = parts.groups()
    host = host.removesuffix(".")
    if not host:
        return None
    authority = href.find("@", 0, parts.start(4))
    url = href if authority < 0 else href[: len(scheme) + 3] + href[authority + 1 :]
    return WebAddress(url, scheme, host.strip("[]"), int(port) if port else None, path, query or "")


def without_user(text: str) -> str:
    """An address without user information, which would show a password; any other text as it is.

    >>> without_user("https://user:secret@example.com/a"), without_user("ftp://user@host/"), without_user("a@b")
    ('https://example.com/a', 'ftp://host/', 'a@b')
    """
    if "@" not in text:
        return text
    address = web_address(text)
    return _USER.sub(r"\1", text) if address is None or "@" not in text.partition("?")[0] else address.url
