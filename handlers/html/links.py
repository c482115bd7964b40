"""Addresses: absolute, canonical, and by registrable domain. A malformed address gives None, never an exception."""

from __future__ import annotations

import re
from functools import lru_cache

import ada_url
from publicsuffixlist import PublicSuffixList
from selectolax.lexbor import LexborHTMLParser
from w3lib.url import canonicalize_url

from schemas.addresses import MAX_URL, web_address
from schemas.event import derive_id

TRACKING_PARAMETERS = frozenset((
    "gclid", "dclid", "fbclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "msclkid", "mc_cid",
    "mc_eid", "mkt_tok", "igshid", "yclid", "_ga", "_gl", "ref_src", "phpsessid", "jsessionid",
))  # fmt: skip
"""Query parameters that do not change the page, in lower case, besides those that begin with ``utm_``."""

NO_WEB_PAGE = "the address opens no web page"
"""The reason for which an address has no host and no id; its source is unlisted, and it is not fetched or indexed."""
_HASH = re.compile(r"[0-9a-f]{32}")
_SID = re.compile(r"[?&](sid=[^&#\s]+)", re.IGNORECASE)
_LEAST_PATHS = 3
_SESSION = re.compile(r";jsessionid=[^;/]*", re.IGNORECASE)
_CANONICAL = re.compile(
    r"https?://(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z][a-z0-9-]*(?:/|(?:/[\w~-][\w.~-]*)+/?)", re.ASCII
)
"""The usual form of an address that is canonical as it is."""


def canonical_url(url: str, session: str = "") -> str | None:
    """The address in one spelling; None if it is no http(s) address.

    Lower-case scheme and host, no default port, no fragment, a sorted query, no tracking parameters, and no parameter
    ``session``, such as ``sid=7``.

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
    query = "&".join(pair for pair in address.query.split("&") if pair != session and not _is_tracking(pair))
    return str(canonicalize_url(f"{address.scheme}://{address.authority}{path}" + f"?{query}" * bool(query)))


def page_id_of(url: str, session: str = "") -> str | None:
    """The id of the page at an address, the same for each spelling of it; None if it is no http(s) address.

    Arguments as for ``canonical_url``.

    >>> page_id_of("https://example.com/a#top") == page_id_of("HTTPS://example.com/a?utm_source=x")
    True
    """
    canonical = canonical_url(url, session)
    return None if canonical is None else derive_id("page", canonical)


def session_of(tree: LexborHTMLParser, url: str) -> str:
    """The parameter ``sid=…`` that the page at an address shows to be a session; "" if it may name the page.

    The page's canonical address is the same without it, or all its links to its host have the same one.
    """
    hrefs = [href for node in tree.css("a[href]") if (href := node.attributes.get("href"))]
    if (found := _SID.search("\n".join((url, *hrefs)))) is None:
        return ""
    own, sid, stated = web_address(url), found[1], tree.css_first("link[rel~=canonical][href]")
    told = absolute_url(url, stated.attributes.get("href") or "") if stated is not None else None
    if told and sid in own.query.split("&"):
        return sid if canonical_url(told) == canonical_url(url, sid) else ""
    there = [to for href in hrefs if (to := web_address(href, url)).host == own.host and to[1:] != own[1:]]
    shared = all(sid in to.query.split("&") for to in there)
    return sid if shared and len({to.path for to in there}) >= _LEAST_PATHS else ""


def absolute_url(base: str, href: str) -> str | None:
    """``href`` as seen from the page ``base``; None unless the result is an http(s) address.

    >>> absolute_url("https://example.com/list/", "../item/7")
    'https://example.com/item/7'
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


def same_domain(url: str, other: str) -> bool:
    """Whether two addresses are of one registrable domain, which one worker at a time visits."""
    return registrable_domain(host_of(url)) == registrable_domain(host_of(other))


@lru_cache(maxsize=8192)
def registered_domain(host: str) -> str:
    """The registered domain; "" for a host without one, such as a public suffix.

    >>> registered_domain("www.ox.ac.uk"), registered_domain("ac.uk"), registered_domain("shop.ac.cc")
    ('ox.ac.uk', '', 'ac.cc')
    """
    known = _suffixes().privatesuffix(_in_letters(host))
    # The labels of the host as it is written, in letters or as "xn--".
    return ".".join(host.split(".")[-known.count(".") - 1 :]) if known else ""


@lru_cache(maxsize=8192)
def owner_name(host: str) -> str:
    """The name that an owner registers below several public suffixes; domains reserved for examples have no owner.

    >>> [owner_name(host) for host in ("news.bbc.co.uk", "www.bbc.com", "www.example.com")]
    ['bbc', 'bbc', 'example.com']
    """
    domain = registrable_domain(host)
    name = domain.partition(".")[0]
    return domain if name == "example" else name


@lru_cache(maxsize=8192)
def is_public_suffix(host: str) -> bool:
    """Whether a host is a public suffix, below which anyone can register a domain.

    >>> [is_public_suffix(host) for host in ("com", "gov.tw", "example.com", "localhost")]
    [True, True, False, False]
    """
    letters = _in_letters(host)
    return _suffixes().publicsuffix(letters, accept_unknown=False) == letters


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    # To encode each suffix as "xn--" takes a tenth of the first score.
    return PublicSuffixList(accept_encoded_idn=False)


def _in_letters(host: str) -> str:
    """A host as readers see it.

    >>> _in_letters("xn--zca.example"), _in_letters("xn--mnchen-3ya.example")
    ('ß.example', 'münchen.example')
    """
    return str(ada_url.idna_to_unicode(host)) if "xn--" in host else host


def _is_tracking(parameter: str) -> bool:
    """Whether a parameter of a query changes no page; ``sid`` names a session, or on many sites a story."""
    name, _, value = parameter.lower().partition("=")
    return name in TRACKING_PARAMETERS or name.startswith("utm_") or (name == "sid" and bool(_HASH.fullmatch(value)))
