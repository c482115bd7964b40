"""The guard before every connection: an address as text in, a checked place to connect to out, or a refusal.

A URL is parsed once, by the parser whose result the client sends (two parsers that disagree are how guards are passed).
A name is resolved once, all its answers are checked, and the client connects to one of the checked addresses, so that
a name server that answers differently the second time gains nothing. Each redirect comes through here anew.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpx

from handlers.page.links import MAX_URL
from schemas.outcome import FetchFailure, FetchRefused
from streams.fetch.addresses import why_not_global
from streams.fetch.settings import FetchSettings, split_address

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port in, all IP addresses out; raises OSError where there are none."""

_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]")
_USER = re.compile(r"[a-z][a-z0-9+.-]{0,20}:/{0,8}[^/?#]*@", re.IGNORECASE)
_SCHEME = re.compile(r"(https?):", re.IGNORECASE)
_PORT = re.compile(r"https?://[^/?#]*:([^/?#\]:]*)(?:[/?#]|$)", re.IGNORECASE)
_AFTER_BRACKETS = re.compile(r"https?://\[[^/?#\]]*\][^:/?#]", re.IGNORECASE)
_DOTTED = re.compile(r"https?://([0-9.]{1,260})(?:[:/?#]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in the only form that the rest of the worker sees.

    Attributes:
        scheme: ``http`` or ``https``.
        host: Lower-case ASCII name, or an IP address without brackets.
        port: Always given.
        path: Path and query as they are sent, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them: the port only where it isn't the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port, as robots.txt and the browser's rules see a site."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The address as text."""
        return self.origin + self.path


@dataclass(frozen=True, slots=True)
class Admitted:
    """A target with the checked places to connect to: (IP address, port), best first, never empty."""

    target: Target
    places: tuple[tuple[str, int], ...]


class SystemResolver:
    """The system's resolver, in threads of its own: names whose servers are silent keep nobody else from working."""

    def __init__(self, threads: int) -> None:
        """Starts no thread yet."""
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """All addresses of a name. Servers that say that they can't tell just now are asked a second time."""
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
        """Lets the threads end; does not wait for look-ups that hang."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def parse_target(url: str) -> Target | FetchRefused:
    """Parses a URL strictly; what two parsers could read in two ways is refused. Never raises.

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
    refusal = _why_not_host(host if ":" in host else host.removesuffix("."))
    if refusal is not None:
        return FetchRefused(url, *refusal)
    written = _PORT.match(text)
    if _AFTER_BRACKETS.match(text) or (
        written and written.group(1) and not (written.group(1).isascii() and written.group(1).isdigit())
    ):
        return FetchRefused(url, FetchFailure.INVALID_URL, "a port that is no plain number")
    port = _PORTS[parsed.scheme] if port is None else port
    if not 0 < port < 65536:
        return FetchRefused(url, FetchFailure.INVALID_URL, f"port {port}")
    target = Target(parsed.scheme, host if ":" in host else host.removesuffix("."), port, path or "/")
    if len(target.url) > MAX_URL:  # percent-encoding makes it longer
        return FetchRefused(url, FetchFailure.INVALID_URL, f"{len(target.url)} characters")
    return target


async def admit(url: str, settings: FetchSettings, resolver: Resolver) -> Admitted | FetchRefused:
    """Checks a URL and everything its name stands for. Opens no connection.

    Args:
        url: As found in an event, a page or a Location header: nothing about it is trusted.
        settings: ``resolve`` permits single hosts, ``allow_private`` whole networks; nothing else does.
        resolver: Asked at most once.

    Returns:
        The places that may be connected to, or why there are none.
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
    return Admitted(target, tuple((answer, target.port) for answer in sorted(set(answers), key=_version_four_first)))


async def _addresses(target: Target, settings: FetchSettings, resolver: Resolver) -> Sequence[str]:
    if ":" in target.host or _NUMBER.fullmatch(target.host.rpartition(".")[2]):
        return (target.host,)
    try:
        async with asyncio.timeout(settings.connect_seconds):
            return await resolver(target.host, target.port)
    except (OSError, UnicodeError):  # a time-out is an OSError too
        return ()


def _why_not_another(address: str) -> str | None:
    """Whether an address is one of this machine's own, whose services may trust whoever comes from here.

    The kernel is asked by which address it would go there, which sends nothing: to itself it goes by that very address.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            source = str(probe.getsockname()[0])
    except OSError:  # no way there, as where there is no IPv6
        return None
    return f"{address} is an address of this machine" if ip_address(source) == ip_address(address) else None


def _version_four_first(address: str) -> tuple[bool, str]:
    # Containers often have IPv6 addresses and no route for them.
    return ":" in address, address


def _why_not_public(target: Target, settings: FetchSettings) -> str | None:
    if target.port not in _PORTS.values() and (target.port < 1024 or target.port in settings.forbidden_ports):
        return f"port {target.port} belongs to another service"
    if ":" in target.host:
        return None
    labels = target.host.split(".")
    if len(labels) == 1 or any(f".{target.host}".endswith(f".{suffix}") for suffix in settings.local_suffixes):
        return f"{target.host} is a name inside a network"
    return None


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
    if not _NUMBER.fullmatch(labels[-1]):
        return None
    try:
        # A host whose last label is a number is an IPv4 address to every browser (WHATWG URL), in whatever notation.
        canonical = str(IPv4Address(host)) == host
    except ValueError:
        canonical = False
    if canonical:
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
