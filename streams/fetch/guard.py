"""Checks every address before a connection, and refuses those outside the open Internet.

A name is resolved once, all its addresses are checked, and the client connects to one of them, so a name server that
answers differently the second time gains nothing. Each redirect is checked again.

The rule allows global unicast addresses and refuses listed ranges within them, so an unlisted special range is refused
too. An address that contains an IPv4 address is also checked as that one (RFC 4291, 6052, 3056, 5214).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from schemas.addresses import DEFAULT_PORTS, MAX_URL, web_address
from schemas.replies import FetchFailure, FetchRefused
from streams.fetch.settings import FetchSettings, split_address

_REPEATS = 3  # how often a part of a path may follow itself before the address is refused
_LONGEST_PART = 3  # segments of such a part


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed URL."""

    scheme: str
    host: str  # lower-case ASCII name, or an IP address without brackets
    port: int  # the port, also if the URL has none
    path: str  # path and query as they are sent, percent-encoded

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


_REFUSED = tuple(
    ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own services on an address that looks public
        "169.254.0.0/16",  # link-local, and most clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, and one cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3ffe::/16",  # the former test network
        "3fff::/20",  # documentation
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def why_not_global(address: str) -> str | None:
    """Why an address must not be reached; None for an address of the open Internet.

    >>> why_not_global("93.184.216.34") is None
    True
    >>> why_not_global("::ffff:10.0.0.1")
    '10.0.0.1 is in 10.0.0.0/8'
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return f"{address!r} is no IP address"
    return _why_listed(parsed) if isinstance(parsed, IPv4Address) else _why_not_v6(parsed)


def _why_listed(address: IPv4Address | IPv6Address) -> str | None:
    network = next((network for network in _REFUSED if address in network), None)
    return None if network is None else f"{address} is in {network}"


def _why_not_v6(address: IPv6Address) -> str | None:
    if address.scope_id is not None:
        return f"{address} has a zone"
    if address in _MAPPED or address in _NAT64:
        return _why_listed(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _GLOBAL_V6:
        return f"{address} is not global unicast"
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return _why_listed(address) or f"{address} is a tunnel into a site"
    return _why_listed(address)


Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns all IP addresses of a host; raises OSError if it has none."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A target with the checked places to connect to: (IP address, port), best first, never empty."""

    target: Target
    places: tuple[tuple[str, int], ...]


class SystemResolver:
    """The system's resolver in its own threads, so a silent name server blocks no other work."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """All addresses of a name. After a temporary failure it asks once more."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._threads, look_up)
        except socket.gaierror as error:
            if error.errno != socket.EAI_AGAIN:
                raise
            answers = await loop.run_in_executor(self._threads, look_up)
        return [str(sockaddr[0]) for *_, sockaddr in answers]

    def close(self) -> None:
        """Ends the threads; does not wait for lookups that hang."""
        self._threads.shutdown(wait=False, cancel_futures=True)


async def admit(url: str, settings: FetchSettings, resolver: Resolver) -> Admitted | FetchRefused:
    """Checks an untrusted URL and all addresses of its name. Opens no connection and asks the resolver at most once.

    The setting ``resolve`` permits single hosts, ``allow_private`` whole networks.
    """
    target = parse_target(url)
    if isinstance(target, FetchRefused):
        return target
    if target.host in settings.resolve:
        return Admitted(target, (split_address(settings.resolve[target.host]),))
    if not settings.allow_private and (why := _why_not_public(target, settings)):
        return FetchRefused(url, FetchFailure.FORBIDDEN_ADDRESS, why)
    answers = await _addresses(target, settings, resolver)
    if not answers:
        return FetchRefused(url, FetchFailure.UNRESOLVABLE, f"no address for {target.host}")
    if not settings.allow_private:
        for answer in answers:
            if why := why_not_global(answer) or _why_not_another(answer):
                return FetchRefused(url, FetchFailure.FORBIDDEN_ADDRESS, why)
    # Version 4 first: containers often have IPv6 addresses without a route.
    ordered = sorted(set(answers), key=lambda answer: (":" in answer, answer))
    return Admitted(target, tuple((answer, target.port) for answer in ordered))


async def _addresses(target: Target, settings: FetchSettings, resolver: Resolver) -> Sequence[str]:
    if ":" in target.host or target.host.rpartition(".")[2].isdigit():
        return (target.host,)
    try:
        async with asyncio.timeout(settings.connect_seconds):
            return await resolver(target.host, target.port)
    except (OSError, UnicodeError):  # a time-out is an OSError too
        return ()


def _why_not_another(address: str) -> str | None:
    """Refuses the addresses of this machine, whose services may trust local clients.

    The kernel chooses the source address for the target, which sends nothing. For an own address it is the same one.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            source = str(probe.getsockname()[0])
    except OSError:  # no route, for example without IPv6
        return None
    return f"{address} is an address of this machine" if ip_address(source) == ip_address(address) else None


def _why_not_public(target: Target, settings: FetchSettings) -> str | None:
    if target.port not in DEFAULT_PORTS.values() and (target.port < 1024 or target.port in settings.forbidden_ports):
        return f"port {target.port} belongs to another service"
    if ":" in target.host:
        return None
    labels = target.host.split(".")
    if len(labels) == 1 or any(f".{target.host}".endswith(f".{suffix}") for suffix in settings.local_suffixes):
        return f"{target.host} is a name inside a network"
    return None
