"""Selects records of a topic for a replay: by key, domain, tier, and earlier decision.

A record is parsed only if the selection needs its contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from aiokafka import ConsumerRecord

from handlers.html.links import host_of
from schemas.event import Event
from schemas.outcome import Dead
from schemas.replays import ReplaySelection, TopicRanges
from streams.codec import decode, timestamp
from streams.replay.decisions import check_values, identity_of, read_earlier, wanted_of
from streams.replay.plan import ReplayError
from streams.settings import Settings
from streams.topology import Handler

Selector = Callable[[ConsumerRecord], bool]
_ADDRESSES = ("url", "final_url", "target_url")
_DOMAIN = re.compile(r"[^\s/:*?#@]+")
_LISTS = ("results", "retrieved_content", "sources", "fetched", "skipped", "source_details")
"""Fields whose items have addresses of their own."""


async def make_selector(
    settings: Settings,
    handler: Handler,
    selection: ReplaySelection,
    until: Sequence[TopicRanges],
    tell: Callable[[], None] = lambda: None,
) -> Selector:
    """Whether a record is meant.

    Args:
        settings: Where Kafka is.
        handler: Whose input the records are, and whose earlier decisions count.
        selection: What is meant; all of its parts must hold.
        until: How far earlier decisions are looked at: ``decision_ranges`` of when the replay began.
        tell: Told of each earlier decision that is read.

    Returns:
        A predicate that never raises. A record that can't be decoded has no domain and no tier.

    Raises:
        ReplayError: The selection asks for what the handler does not have.
        KafkaError: Earlier decisions can't be read.
    """
    tests: list[Selector] = []
    if selection.keys:
        keys = frozenset(key.encode() for key in selection.keys)
        tests.append(lambda record: record.key in keys)
    if (wanted := wanted_of(handler, selection)) is not None:
        earlier = await read_earlier(settings, handler, wanted, until, tell)
        tests.append(lambda record: earlier.means(identity_of(record)))
    if (by_contents := _by_contents(handler, selection)) is not None:
        tests.append(by_contents)
    return lambda record: all(test(record) for test in tests)


def addresses(event: Event) -> Iterator[str]:
    """Every address that an event is about: of its page, of its target, of each of its results or sources."""
    for name in _ADDRESSES:
        if (address := getattr(event, name, None)) is not None:
            yield str(address)
    yield from getattr(event, "urls", None) or ()
    for name in _LISTS:
        for item in getattr(event, name, None) or ():
            yield from addresses(item)


def in_domain(address: str, domains: frozenset[str]) -> bool:
    """Whether an address is in one of the domains, or below one.

    >>> in_domain("https://shop.example.co.uk/a", frozenset({"example.co.uk"}))
    True
    >>> in_domain("https://notexample.co.uk/", frozenset({"example.co.uk"}))
    False
    """
    labels = host_of(address).split(".")
    return any(".".join(labels[at:]) in domains for at in range(len(labels)))


def _by_contents(handler: Handler, selection: ReplaySelection) -> Selector | None:
    """The part of a selection that a record's own contents decide; None where there is none."""
    domains = frozenset(_domain(domain) for domain in selection.domains)
    tiers = frozenset(selection.tiers) if "tier" in handler.consumes.event.model_fields else frozenset()
    if tiers:
        check_values(handler.consumes.event, "tier", tiers, "--tier")
    if not domains and not tiers:
        return None

    def test(record: ConsumerRecord) -> bool:
        event: Any = decode(handler.consumes, record.value, record.headers, timestamp(record.timestamp))
        if isinstance(event, Dead) or (tiers and str(event.tier) not in tiers):
            return False
        return not domains or any(in_domain(address, domains) for address in addresses(event))

    return test


def _domain(given: str) -> str:
    """A domain as hosts are written.

    Raises:
        ReplayError: It is an address or a pattern, which would mean nothing.
    """
    domain = given.strip().strip(".").lower()
    if not domain or not _DOMAIN.fullmatch(domain):
        raise ReplayError(
            f"--domain {given!r} is no domain; write it alone, such as example.com, which means those below it too"
        )
    return domain
