"""The ``fetch`` section of the configuration."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from schemas.addresses import ip_of, web_address
from schemas.pages import MAX_PAGE_BYTES
from schemas.rules import OptionalPath, Section

_HOST = re.compile(r"[^\s/:?#@\[\]]+")


class FetchSettings(Section):
    """How pages are fetched from the open web."""

    user_agent: str = Field(
        default="AssayBot/0.1",
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z][\x20-\x7e]*$",
        description="Sent with every request; the part before the slash is our name in robots.txt.",
    )
    accept_language: str = Field(
        default="en;q=0.9,*;q=0.5", pattern=r"^[\x20-\x7e]*$", description="The Accept-Language header; empty: none."
    )
    content_types: tuple[str, ...] = Field(
        default=("text/html", "application/xhtml+xml", "text/plain"), description="Media types that count as a page."
    )

    allow_private: bool = Field(
        default=False, description="Also reach private, loopback and link-local addresses. Only for a closed network."
    )
    resolve: dict[str, str] = Field(
        default_factory=dict,
        description="Host to address:port, as with curl's --resolve: the operator's permission for exactly that host.",
    )
    local_suffixes: tuple[str, ...] = Field(
        default=(
            "localhost",
            "local",
            "localdomain",
            "internal",
            "intranet",
            "lan",
            "corp",
            "home",
            "home.arpa",
            "svc",
            "onion",
        ),
        description="Suffixes of names inside a network; refused before they are resolved.",
    )

    forbidden_ports: tuple[int, ...] = Field(
        default=(
            # Ports that browsers refuse (WHATWG Fetch).
            *(1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566),
            *(6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
            # Databases, stores and search engines, many without authentication.
            *(1433, 1521, 3306, 5432, 5984, 6333, 6334, 6379, 6380, 7000, 7474, 7687, 8086, 8123, 8529, 8983, 9000),
            *(9042, 9160, 9200, 9300, 11211, 16379, 19530, 26379, 26257, 27017, 27018, 27019, 28015, 28017),
            # Queues and brokers.
            *(1883, 4222, 5671, 5672, 6650, 8222, 8883, 9092, 9093, 9094, 15672, 25672, 61613, 61616),
            # Clusters, containers and their coordinators.
            *(2181, 2375, 2376, 2377, 2379, 2380, 4243, 4646, 6066, 6443, 7077, 7946, 8020, 8088, 8200),
            *(8300, 8301, 8302, 8500, 8600, 9870, 10248, 10249, 10250, 10255, 10256, 10257, 10259, 50070, 50075),
            # Metrics and agents on machines.
            *(4949, 5601, 8125, 9090, 9091, 9100, 10050, 10051),
            # Debuggers, remote control, models: a client can run code.
            *(1099, 1414, 3389, 4369, 4444, 5005, 5555, 5900, 5901, 5985, 5986, 7199, 9222, 9229, 11434),
        ),
        description="Ports from 1024 on that are not used for web servers.",
    )

    connect_seconds: float = Field(default=5.0, gt=0, description="Timeout of a name lookup, and of connecting.")
    first_byte_seconds: float = Field(default=15.0, gt=0, description="Timeout until the head of the response.")
    total_seconds: float = Field(default=30.0, gt=0, description="Timeout of one request, including the body.")
    pages_seconds: float = Field(
        default=180.0,
        gt=0,
        description="Timeout of all pages of one event; must be below processing.retries.attempt_seconds.",
    )
    pages_bytes: int = Field(
        default=33_554_432, ge=1024, description="Size of all pages of one event, else over_budget."
    )
    max_bytes: int = Field(default=MAX_PAGE_BYTES, ge=1024, le=MAX_PAGE_BYTES, description="Size of a page.")
    max_redirects: int = Field(default=5, ge=0, le=20, description="Most redirects; each one is checked.")
    parallel: int = Field(default=32, ge=1, description="Concurrent requests of a process.")
    parallel_per_domain: int = Field(
        default=4, ge=1, description="Concurrent requests to one registrable domain; each host gets one at a time."
    )

    attempts: int = Field(default=3, ge=1, le=10, description="Attempts if a connection or a server fails.")
    first_backoff_seconds: float = Field(default=0.5, ge=0, description="Upper bound of the first pause between tries.")
    max_backoff_seconds: float = Field(default=8.0, ge=0, description="Upper bound of any pause between tries.")
    retry_after_seconds: float = Field(
        default=30.0, ge=0, description="Longest Retry-After that is waited for; a longer one is rate_limited."
    )

    longest_rest_seconds: float = Field(default=21_600.0, ge=0, description="Longest pause a Retry-After can cause.")

    min_delay_seconds: float = Field(default=1.0, ge=0, description="Shortest pause between two requests to a host.")
    max_delay_seconds: float = Field(default=30.0, ge=0, description="Longest pause for a host, also as Crawl-delay.")
    hosts: int = Field(default=4096, ge=1, description="Number of hosts whose pace and robots.txt are in memory.")

    robots: bool = Field(default=True, description="Obey robots.txt (RFC 9309).")
    robots_ttl_seconds: float = Field(default=86_400.0, ge=0, description="How long a robots.txt is valid.")
    robots_failure_ttl_seconds: float = Field(
        default=300.0, ge=0, description="How long its failed fetch blocks a host."
    )
    robots_max_bytes: int = Field(default=524_288, ge=1024, description="Size of a robots.txt; the rest is ignored.")

    cache_path: OptionalPath = Field(default=None, description="File of the fetched pages; empty: in memory.")
    cache_ttl_seconds: float = Field(default=86_400.0, ge=0, description="How long a fetched page is kept.")
    cache_version_seconds: float = Field(
        default=604_800.0,
        ge=0,
        description="How long a page with a version is kept, to ask the server whether it has changed.",
    )
    cache_refusal_ttl_seconds: float = Field(
        default=600.0, ge=0, description="How long a 404 or another lasting refusal is kept."
    )
    cache_bytes: int = Field(default=512 * 1024 * 1024, ge=0, description="Size of the cached pages, compressed.")
    cache_memory_bytes: int = Field(
        default=64 * 1024 * 1024, ge=0, description="Size of the pages in memory, without a file or after its failure."
    )
    cache_rest_seconds: float = Field(default=60.0, ge=0, description="How long a failed cache file is not used.")

    @field_validator("resolve")
    @classmethod
    def _address_and_port(cls, value: dict[str, str]) -> dict[str, str]:
        for target in value.values():
            split_address(target)
        return {_host_name(host): target for host, target in value.items()}


def _host_name(written: str) -> str:
    """A host as the guard parses it: lower case, IDNA, no dot at the end."""
    address = web_address(f"http://{written}/")
    if not address or not address.has_plain_host or not _HOST.fullmatch(written):
        raise ValueError("a key is not a host name")
    return address.host


def split_address(text: str) -> tuple[str, int]:
    """Splits ``address:port``, or raises ValueError; an IPv6 address is in brackets."""
    address, colon, port = text.rpartition(":")
    found = ip_of(address.removeprefix("[").removesuffix("]"))
    if not (colon and found and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError("a value is not address:port, such as 192.0.2.7:8080")
    return str(found), int(port)
