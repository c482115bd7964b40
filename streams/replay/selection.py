"""Selects records of a topic for a replay: by key, domain, tier, and earlier decision.

A record is decoded only if the selection needs its contents.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from aiokafka import ConsumerRecord

from handlers.html.links import host_of
from schemas.event import Event
from schemas.outcome import Dead
from schemas.replays import OffsetRange, ReplayPlan, ReplaySelection, TopicRanges
from streams.kafka.log_reader import read_log
from streams.replay.decisions import checked_path, decision_filter, identity_of, read_decisions
from streams.replay.plan import ReplayError, handler_of, stage_of
from streams.settings.model import Settings
from streams.topology import Handler
from streams.topology.codec import decode, timestamp
from streams.workers.handler_jobs import RawRecord

Selector = Callable[[ConsumerRecord], bool]
_ADDRESSES = ("url", "final_url", "target_url")
_DOMAIN = re.compile(r"[^\s/:*?#@]+")
_LISTS = ("results", "retrieved_content", "sources", "fetched", "skipped", "source_details")
"""Fields whose items have addresses."""


async def make_selector(
    settings: Settings,
    handler: Handler,
    selection: ReplaySelection,
    until: Sequence[TopicRanges],
    advance: Callable[[], None] = lambda: None,
) -> Selector:
    """A predicate that selects records and never raises. A record that can't be decoded has no domain and no tier.

    ``until`` has the ``decision_ranges`` of the start of the replay. ``advance`` is called for each earlier decision.

    Raises:
        ReplayError: The handler has nothing that the selection asks for.
        KafkaError: Earlier decisions can't be read.
    """
    tests: list[Selector] = []
    if selection.keys:
        keys = frozenset(key.encode() for key in selection.keys)
        tests.append(lambda record: record.key in keys)
    if (wanted := decision_filter(handler, selection)) is not None:
        previous = await read_decisions(settings, handler, wanted, until, advance)
        tests.append(lambda record: previous.selects(identity_of(record)))
    if (by_contents := _by_contents(handler, selection)) is not None:
        tests.append(by_contents)
    return lambda record: all(test(record) for test in tests)


async def read_selected(
    settings: Settings, plan: ReplayPlan, parts: Iterable[Sequence[OffsetRange]], advance: Callable[[int], None]
) -> AsyncGenerator[ConsumerRecord]:
    """The records that a plan selects in parts of its ranges; ``advance`` is called for each record that is read.

    Raises:
        ReplayError: The handler has nothing that the selection asks for.
        KafkaError: The cluster can't be read.
    """
    stage = stage_of(plan)
    selects = await make_selector(settings, handler_of(plan), plan.selection, stage.decisions)
    for ranges in parts:
        async with aclosing(read_log(settings.kafka, stage.topic, ranges)) as records:
            async for record in records:
                advance(1)
                if selects(record):
                    yield record


def raw_record(record: ConsumerRecord) -> RawRecord:
    return RawRecord(record.value, record.headers, timestamp(record.timestamp), record.key)


def addresses(event: Event) -> Iterator[str]:
    """The addresses of an event: of its page, its target, and each of its results or sources."""
    for name in _ADDRESSES:
        if (address := getattr(event, name, None)) is not None:
            yield str(address)
    yield from getattr(event, "urls", None) or ()
    for name in _LISTS:
        for item in getattr(event, name, None) or ():
            yield from addresses(item)


def in_domain(address: str, domains: frozenset[str]) -> bool:
    """Whether the host of an address is one of the domains or a subdomain.

    >>> in_domain("https://shop.example.co.uk/a", frozenset({"example.co.uk"}))
    True
    >>> in_domain("https://notexample.co.uk/", frozenset({"example.co.uk"}))
    False
    """
    labels = host_of(address).split(".")
    return any(".".join(labels[at:]) in domains for at in range(len(labels)))


def _by_contents(handler: Handler, selection: ReplaySelection) -> Selector | None:
    """The conditions on the contents of a record; None if the selection has no such condition."""
    domains = frozenset(_domain(domain) for domain in selection.domains)
    tiers = frozenset(selection.tiers) if "tier" in handler.consumes.event.model_fields else frozenset()
    if tiers:
        checked_path(handler.consumes.event, "tier", tiers, "--tier")
    if not domains and not tiers:
        return None

    def test(record: ConsumerRecord) -> bool:
        event: Any = decode(handler.consumes, *raw_record(record))
        if isinstance(event, Dead) or (tiers and str(event.tier) not in tiers):
            return False
        return not domains or any(in_domain(address, domains) for address in addresses(event))

    return test


def _domain(given: str) -> str:
    """A domain in the spelling of hosts. An address or a pattern is refused: it would select nothing."""
    domain = given.strip().strip(".").lower()
    if not domain or not _DOMAIN.fullmatch(domain):
        raise ReplayError(
            f"--domain {given!r} is no domain; write it alone, such as example.com, which includes its subdomains"
        )
    return domain
