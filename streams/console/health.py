"""The signs by which the live screen says whether all is well: the last minutes against the hour before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streams.console.entries import Tone
from streams.console.store import Counts, Store
from streams.views.amounts import figure, in_rate, in_time
from streams.views.flow import HandlerFlow

_MINUTES, _HOUR = 5, 60
_SLOWER, _MORE = 0.5, 0.1
"""The share of the rate before below which it is slow, and the rise of the refused share that is a sign."""


class Sign(NamedTuple):
    """A figure, what it was before or where it is from, and how good it is."""

    name: str
    value: str
    told: str
    tone: Tone


def signs(store: Store, flows: Mapping[str, HandlerFlow], now: int) -> list[Sign]:
    """The signs at a moment in milliseconds."""
    begin = now - _MINUTES * 60_000
    recent, before = store.counts(begin, now + 60_000), store.counts(begin - _HOUR * 60_000, begin)
    return [_rate(recent, before), _oldest(flows), _dead(recent, before), _refused(recent, before)]


def _rate(recent: Counts, before: Counts) -> Sign:
    rate, usual = recent.decisions / (60 * _MINUTES), before.decisions / (60 * _HOUR)
    tone: Tone = "low" if rate < _SLOWER * usual else "good" if rate else "none"
    return Sign("decisions a second", in_rate(rate), f"{in_rate(usual)} in the hour before", tone)


def _oldest(flows: Mapping[str, HandlerFlow]) -> Sign:
    waiting = [(its.lag_seconds or 0.0, its) for its in flows.values() if its.lag_records]
    if not waiting:
        return Sign("oldest waiting", in_time(0) if flows else "-", "nothing waits", "good" if flows else "none")
    seconds, its = max(waiting, key=lambda pair: pair[0])
    late = [flow.handler for age, flow in waiting if age > flow.slo_seconds]
    told = f"at {its.handler}" if its.members else f"at {its.handler}, which no worker runs"
    return Sign("oldest waiting", in_time(seconds), told, "poor" if late else "good")


def _dead(recent: Counts, before: Counts) -> Sign:
    is_more = recent.dead / _MINUTES > before.dead / _HOUR
    tone: Tone = "good" if not recent.dead else "poor" if is_more else "low"
    return Sign("new dead letters", figure(recent.dead), f"{figure(before.dead)} in the hour before", tone)


def _refused(recent: Counts, before: Counts) -> Sign:
    shares = [its.refused / its.pages if its.pages else None for its in (recent, before)]
    now, usual = (f"{100 * share:.0f} %" if share is not None else "-" for share in shares)
    is_more = shares[0] is not None and shares[1] is not None and shares[0] > shares[1] + _MORE
    tone: Tone = "none" if shares[0] is None else "low" if is_more else "good"
    return Sign("pages without content", now, f"{usual} in the hour before", tone)
