"""Finds the lines that a host repeats on its pages: the contents of ``boilerplate.json``.

Memory is bounded: of each host a sample of its pages is kept, those whose addresses have the lowest hashes. So the
result does not depend on the order of the pages, unless there are more hosts than the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from handlers.html.boilerplate import Boilerplate, digest_of, packed, unpacked, version_of
from handlers.html.links import canonical_url, host_of
from handlers.html.main_text import has_cjk

_LINES_OF_PAGE = 300
"""Those with the lowest hashes, so that the same lines of two long pages are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a line boilerplate, and how much is kept.

    Attributes:
        min_pages: Different pages that a host needs.
        share: Of these pages, which a line is on at least.
        characters: Of a line; Chinese and Japanese lines need half as many. Templates also repeat what belongs to the
            content and is short: headings, values of tables, lines of code.
        hosts: Hosts that are kept; later ones are left out.
        sample: Pages of a host that are compared.
        lines: Lines of a host, the most frequent first.
    """

    min_pages: int = 5
    share: float = 0.5
    characters: int = 40
    hosts: int = 10_000
    sample: int = 50
    lines: int = 100


class BoilerplateLearner:
    """Takes pages and gives the lines that their hosts repeat.

    Attributes:
        pages: Pages that were added.
        left_out: Pages of hosts beyond the limit.
    """

    def __init__(self, limits: Limits) -> None:
        """Nothing is known yet."""
        self._limits = limits
        self._hosts: dict[str, dict[int, tuple[str, str]]] = {}
        self.pages = 0
        self.left_out = 0

    @property
    def hosts(self) -> int:
        """Hosts with pages."""
        return len(self._hosts)

    def add(self, url: str, content: str) -> None:
        """Adds the content of a page; the later content of an address counts."""
        host = host_of(url)
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) >= self._limits.hosts:
                self.left_out += 1
                return
            known = self._hosts[host] = {}
        self.pages += 1
        address = (canonical_url(url) or url).encode("utf-8", "replace")
        known[int.from_bytes(blake2b(address, digest_size=8).digest())] = (
            digest_of(content),
            packed(sorted(set(self._digests(content)))[:_LINES_OF_PAGE]),
        )
        if len(known) > self._limits.sample:
            del known[max(known)]

    def _digests(self, content: str) -> Iterator[str]:
        least = self._limits.characters
        for line in content.split("\n"):
            if len(line) >= least or (2 * len(line) >= least and has_cjk(line)):
                yield digest_of(line)

    def learned(self) -> Boilerplate:
        """The lines of all hosts with enough pages; equal pages of a host count as one."""
        limits = self._limits
        hosts: dict[str, str] = {}
        for host, sample in sorted(self._hosts.items()):
            pages = dict(sample.values()).values()
            if len(pages) < limits.min_pages:
                continue
            counts = Counter(line for page in pages for line in unpacked(page))
            least = max(2, limits.share * len(pages))
            repeated = [(-count, line) for line, count in counts.items() if count >= least]
            if repeated:
                hosts[host] = packed(line for _, line in sorted(repeated)[: limits.lines])
        return Boilerplate(
            version=version_of(hosts),
            pages=self.pages,
            min_pages=limits.min_pages,
            share=limits.share,
            hosts=hosts,
        )
