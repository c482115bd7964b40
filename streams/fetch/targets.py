"""Reads addresses as browsers do, into the form that the rest of the worker uses.

The client gets the plain form that the parser writes: parsers disagree about other forms.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.addresses import DEFAULT_PORTS, MAX_URL, web_address
from schemas.replies import FetchFailure, FetchRefused

_REPEATS = 3  # how often a part of a path may follow itself before the address is refused
_LONGEST_PART = 3  # segments of such a part


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
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.path


def parse_target(url: str) -> Target | FetchRefused:
    """The place where a browser would fetch a URL; refuses other schemes and hosts that are no plain names."""
    address = web_address(url)
    if not address:
        scheme = url.strip().partition(":")[0]
        if scheme.lower() in DEFAULT_PORTS:
            return FetchRefused(url, FetchFailure.INVALID_URL, "no address that a browser opens")
        return FetchRefused(url, FetchFailure.FORBIDDEN_SCHEME, f"scheme {scheme[:20]!r}")
    if not address.has_plain_host:
        return FetchRefused(url, FetchFailure.INVALID_URL, "no host name")
    if address.port == 0:
        return FetchRefused(url, FetchFailure.INVALID_URL, "port 0")
    path = f"{address.path}?{address.query}" if address.query else address.path
    target = Target(address.scheme, address.host, address.port or DEFAULT_PORTS[address.scheme], path)
    if len(target.url) > MAX_URL:  # percent-encoding makes it longer
        return FetchRefused(url, FetchFailure.INVALID_URL, f"{len(target.url)} characters")
    return target


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
