"""The signs by which the live screen says whether all is well: the last minutes against the hour before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from streams.console.entries import Tone
from streams.console.store import Store
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
    begin, before = now - _MINUTES * 60_000, "{} in the hour before".format
    recent, earlier = store.counts(begin, now + 60_000), store.counts(begin - _HOUR * 60_000, begin)
    rate, usual = recent.decisions / (60 * _MINUTES), earlier.decisions / (60 * _HOUR)
    of_rate: Tone = "low" if rate < _SLOWER * usual else "good" if rate else "none"
    is_more = recent.dead / _MINUTES > earlier.dead / _HOUR
    of_dead: Tone = "good" if not recent.dead else "poor" if is_more else "low"
    refused, usually = (its.refused / its.pages if its.pages else None for its in (recent, earlier))
    rises = refused is not None and usually is not None and refused > usually + _MORE
    of_refused: Tone = "none" if refused is None else "low" if rises else "good"
    return [
        Sign("decisions a second", in_rate(rate), before(in_rate(usual)), of_rate),
        _oldest(flows),
        Sign("new dead letters", figure(recent.dead), before(figure(earlier.dead)), of_dead),
        Sign("pages without content", _percent(refused), before(_percent(usually)), of_refused),
    ]


def _oldest(flows: Mapping[str, HandlerFlow]) -> Sign:
    waiting = [(its.lag_seconds or 0.0, its) for its in flows.values() if its.lag_records]
    if not waiting:
        return Sign("oldest waiting", in_time(0) if flows else "-", "nothing waits", "good" if flows else "none")
    seconds, its = max(waiting, key=lambda pair: pair[0])
    is_late = any(age > flow.slo_seconds for age, flow in waiting)
    told = f"at {its.handler}{'' if its.members else ', which no worker runs'}"
    return Sign("oldest waiting", in_time(seconds), told, "poor" if is_late else "good")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"
