"""Addresses: absolute, canonical, and by registrable domain. A malformed address gives None, never an exception."""

from __future__ import annotations

import re
from functools import lru_cache

from publicsuffixlist import PublicSuffixList
from w3lib.url import canonicalize_url

from schemas.addresses import MAX_URL, web_address
from schemas.event import derive_id

TRACKING_PARAMETERS = frozenset((
    "gclid", "dclid", "fbclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "msclkid", "mc_cid",
    "mc_eid", "mkt_tok", "igshid", "yclid", "_ga", "_gl", "ref_src", "phpsessid", "jsessionid",
))  # fmt: skip
"""Query parameters that do not change the page, in lower case, besides those that begin with ``utm_``."""

_HASH = re.compile(r"[0-9a-f]{32}")
_SESSION = re.compile(r";jsessionid=[^;/]*", re.IGNORECASE)
_CANONICAL = re.compile(
    r"https?://(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z][a-z0-9-]*(?:/|(?:/[\w~-][\w.~-]*)+/?)", re.ASCII
)
"""The usual form of an address that is canonical as it is."""


def canonical_url(url: str) -> str | None:
    """The address in one spelling; None if it is no http(s) address.

    Lower-case scheme and host, no default port, no fragment, a sorted query, no tracking parameters.

    >>> canonical_url("HTTP://Example.com:80/a?b=2&utm_source=x&a=1#top")
    'http://example.com/a?a=1&b=2'
    >>> canonical_url("mailto:someone@example.com") is None
    True
    """
    if len(url) <= MAX_URL and _CANONICAL.fullmatch(url):
        return url
    if not (address := web_address(url)):
        return None
    path = _SESSION.sub("", address.path)
    query = "&".join(pair for pair in address.query.split("&") if not _is_tracking(pair))
    return str(canonicalize_url(f"{address.scheme}://{address.authority}{path}" + f"?{query}" * bool(query)))


def page_id_of(url: str) -> str | None:
    """The id of the page at an address, the same for each spelling of it; None if it is no http(s) address.

    >>> page_id_of("https://example.com/a#top") == page_id_of("HTTPS://example.com/a?utm_source=x")
    True
    """
    canonical = canonical_url(url)
    return None if canonical is None else derive_id("page", canonical)


def absolute_url(base: str, href: str) -> str | None:
    """``href`` as seen from the page ``base``; None unless the result is an http(s) address.

    >>> absolute_url("https://example.com/list/", "../item/7")
    'https://example.com/item/7'
    >>> absolute_url("https://example.com/", "javascript:void(0)") is None
    True
    """
    return web_address(href, base).url or None


def host_of(url: str) -> str:
    """The host of an address, lower-case and without port; "" if it is no http(s) address.

    >>> host_of("https://News.Example.co.uk:8443/a")
    'news.example.co.uk'
    """
    return web_address(url).host


@lru_cache(maxsize=8192)
def registrable_domain(host: str) -> str:
    """The registered domain (public suffix plus one label), or the host itself if it has none.

    >>> registrable_domain("news.example.co.uk")
    'example.co.uk'
    >>> registrable_domain("localhost")
    'localhost'
    """
    return registered_domain(host) or host


@lru_cache(maxsize=8192)
def registered_domain(host: str) -> str:
    """The registered domain; "" for a host without one, such as a public suffix.

    >>> registered_domain("www.ox.ac.uk"), registered_domain("ac.uk"), registered_domain("shop.ac.cc")
    ('ox.ac.uk', '', 'ac.cc')
    """
    return _suffixes().privatesuffix(host) or ""


@lru_cache(maxsize=8192)
def is_public_suffix(host: str) -> bool:
    """Whether a host is a public suffix, below which anyone can register a domain.

    >>> [is_public_suffix(host) for host in ("com", "gov.tw", "example.com", "localhost")]
    [True, True, False, False]
    """
    return _suffixes().publicsuffix(host, accept_unknown=False) == host


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def _is_tracking(parameter: str) -> bool:
    """Whether a parameter of a query changes no page; ``sid`` names a session, or on many sites a story."""
    name, _, value = parameter.lower().partition("=")
    return name in TRACKING_PARAMETERS or name.startswith("utm_") or (name == "sid" and bool(_HASH.fullmatch(value)))
