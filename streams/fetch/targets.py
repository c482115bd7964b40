"""Parses URLs strictly into the form that the rest of the worker uses.

A URL is parsed once, by the parser whose result the client sends: a guard can be passed if two parsers disagree.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

import httpx

from schemas.event import MAX_URL
from schemas.replies import FetchFailure, FetchRefused

PORTS = {"http": 80, "https": 443}
"""The port of a scheme."""
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
"""The last label of a host that is an IPv4 address in any notation."""
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_USER = re.compile(r"[a-z][a-z0-9+.-]{0,20}:/{0,8}[^/?#]*@", re.IGNORECASE)
_SCHEME = re.compile(r"(https?):", re.IGNORECASE)
_PORT = re.compile(r"https?://[^/?#]*:([^/?#\]:]*)(?:[/?#]|$)", re.IGNORECASE)
_AFTER_BRACKETS = re.compile(r"https?://\[[^/?#\]]*\][^:/?#]", re.IGNORECASE)
_DOTTED = re.compile(r"https?://([0-9.]{1,260})(?:[:/?#]|$)", re.IGNORECASE)
_REPEATS = 3
"""How often a part of a path may follow itself before the address is refused."""
_LONGEST_PART = 3
"""Segments of such a part."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed URL.

    Attributes:
        host: Lower-case ASCII name, or an IP address without brackets.
        port: The port, also if the URL has none.
        path: Path and query as they are sent, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as in the Host header: the port only if it isn't the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.path


def parse_target(url: str) -> Target | FetchRefused:
    """Parses a URL strictly and refuses ambiguous ones. Never raises.

    Refused are other schemes, user information, control characters, backslashes, names that are not plain labels, and
    IPv4 addresses in any form but four decimal numbers.
    """
    text = url.strip(" \t\r\n\f")
    if len(text) > MAX_URL or _UNSAFE.search(text):
        return FetchRefused(url, FetchFailure.INVALID_URL, "characters that don't belong into an address")
    if not _SCHEME.match(text):
        return FetchRefused(url, FetchFailure.FORBIDDEN_SCHEME, f"scheme {text.partition(':')[0][:20]!r}")
    try:
        parsed = httpx.URL(text)
        host, port, path = parsed.raw_host.decode("ascii"), parsed.port, parsed.raw_path.decode("ascii")
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        numbers = _DOTTED.match(text)
        if numbers and _is_odd_address(numbers.group(1).split(".")):
            return FetchRefused(url, FetchFailure.FORBIDDEN_ADDRESS, "an IPv4 address in a disguised notation")
        return FetchRefused(url, FetchFailure.INVALID_URL, str(error))
    if _USER.match(text):
        return FetchRefused(url, FetchFailure.INVALID_URL, "user information in the address")
    host = host.removeprefix("[").removesuffix("]").lower()
    host = host if ":" in host else host.removesuffix(".")
    if (refusal := _why_not_host(host)) is not None:
        return FetchRefused(url, *refusal)
    written = _PORT.match(text)
    if _AFTER_BRACKETS.match(text) or (written and not re.fullmatch("[0-9]*", written.group(1))):
        return FetchRefused(url, FetchFailure.INVALID_URL, "a port that is no plain number")
    port = PORTS[parsed.scheme] if port is None else port
    if not 0 < port < 65536:
        return FetchRefused(url, FetchFailure.INVALID_URL, f"port {port}")
    target = Target(parsed.scheme, host, port, path or "/")
    if len(target.url) > MAX_URL:  # percent-encoding makes it longer
        return FetchRefused(url, FetchFailure.INVALID_URL, f"{len(target.url)} characters")
    return target


def _why_not_host(host: str) -> tuple[FetchFailure, str] | None:
    if ":" in host:
        try:
            IPv6Address(host)
        except ValueError:
            return FetchFailure.INVALID_URL, "no IPv6 address"
        return (FetchFailure.INVALID_URL, "an IPv6 zone") if "%" in host else None
    labels = host.split(".")
    if not host or len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return FetchFailure.INVALID_URL, "no host name"
    if not NUMBER.fullmatch(labels[-1]):
        return None
    # A host whose last label is a number is an IPv4 address to every browser (WHATWG URL), in whatever notation.
    with contextlib.suppress(ValueError):
        if str(IPv4Address(host)) == host:
            return None
    if _is_odd_address(labels):
        return FetchFailure.FORBIDDEN_ADDRESS, "an IPv4 address in a disguised notation"
    return FetchFailure.INVALID_URL, "neither a name nor an IPv4 address"


def _is_odd_address(labels: list[str]) -> bool:
    """Whether the labels are an address in octal, hexadecimal, decimal or short form (the WHATWG parser's rule)."""
    if len(labels) > 4 or any(len(label) > 64 for label in labels):
        return False
    numbers = []
    for label in labels:
        try:
            base = 16 if label.startswith("0x") else 8 if label.startswith("0") and len(label) > 1 else 10
            numbers.append(int(label.removeprefix("0x") or "0", base))
        except ValueError:
            return False
    return all(number < 256 for number in numbers[:-1]) and numbers[-1] < 256 ** (5 - len(numbers))


def repeated_part(target: Target) -> str:
    """The part of the path that follows itself three times or more; "" without one. Numbers alone do not count.

    >>> repeated_part(Target("https", "example.com", 443, "/a/b/a/b/a/b/a/b/c")), repeated_part(
    ...     Target("https", "example.com", 443, "/jobs/0/0/0/0/")
    ... )
    ('a/b', '')
    """
    segments = [segment for segment in target.path.partition("?")[0].lower().split("/") if segment]
    for length in range(1, _LONGEST_PART + 1):
        repeated = 0
        for index in range(length, len(segments)):
            repeated = repeated + 1 if segments[index] == segments[index - length] else 0
            part = segments[index - length + 1 : index + 1]
            if repeated >= _REPEATS * length and not all(map(str.isdigit, part)):
                return "/".join(part)
    return ""
