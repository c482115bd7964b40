"""The limits of the design beside what was measured: promise, measured, ok or missed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tools.bench.hostile import REASONS

Results = Mapping[str, Any]
PARSE, SCORE_PAGE, TRAFILATURA = "parse alone", "`score_page` alone", "trafilatura, every 8th page"
RESILIPARSE = "resiliparse, main content"
QUIX, QUIX_TWO = "Quix Streams, exactly once", "Quix Streams, exactly once, two processes"
BASE = "Assay, exactly once, before"
BARE_NOTES, NOTES = "bare loop", "Assay, exactly once"
UNMEASURED = "not measured"


def assay_name(children: int) -> str:
    """The name of the pipeline with a number of children; 0 is inline.

    >>> assay_name(0), assay_name(1), assay_name(2)
    ('Assay, exactly once, inline', 'Assay, exactly once, 1 child', 'Assay, exactly once, 2 children')
    """
    how = {0: "inline", 1: "1 child"}.get(children, f"{children} children")
    return f"Assay, exactly once, {how}"


class Promise(NamedTuple):
    """One row."""

    promise: str
    measured: str
    verdict: str


class _Limit(NamedTuple):
    promise: str
    figure: Callable[[Results], float]
    """Raises KeyError where the run has not measured it, or the machine cannot."""
    least: float | None = None
    most: float | None = None
    form: str = "{:.2f}"


def promises(results: Results) -> list[Promise]:
    """All rows. What a run has not measured is said, and is neither ok nor missed."""
    return [_checked(limit, results) for limit in LIMITS]


def _checked(limit: _Limit, results: Results) -> Promise:
    try:
        figure = limit.figure(results)
    except (KeyError, ZeroDivisionError):
        return Promise(limit.promise, UNMEASURED, "")
    kept = (limit.least is None or figure >= limit.least) and (limit.most is None or figure <= limit.most)
    return Promise(limit.promise, limit.form.format(figure), "ok" if kept else "missed")


def _ratio(part: str, one: str, other: str, unit: str) -> Callable[[Results], float]:
    def of(results: Results) -> float:
        rows = results[part]
        return float(rows[one][unit] / rows[other][unit])

    return of


def _default(results: Results) -> str:
    """The pipeline with as many children as there are cores."""
    return assay_name(results["machine"]["cores"])


def _less_cpu(results: Results) -> float:
    rows = results["pages"]
    return float(100 * (1 - rows[_default_children(results)]["cpu_ms"] / rows[BASE]["cpu_ms"]))


def _default_children(results: Results) -> str:
    return assay_name(results["default_children"])


def _against_quix(name: str) -> Callable[[Results], float]:
    def of(results: Results) -> float:
        rows = results["pages"]
        return float(rows[_default(results)]["per_wall_second"] / rows[name]["per_wall_second"])

    return of


def _hostile(name: str) -> Callable[[Results], float]:
    return lambda results: float(results["hostile"][name])


def _dead_letters(results: Results) -> float:
    """The least of any reason, per faulty page of its kind."""
    hostile = results["hostile"]
    return float(min(hostile["dead"].get(reason, 0) / hostile["faulty"] for reason in REASONS.values()))


LIMITS = (
    _Limit("CPU per page less than before, %", _less_cpu, least=35, form="{:.0f}"),
    _Limit("`score_page` against the parse", _ratio("pages", SCORE_PAGE, PARSE, "per_cpu_second"), least=0.29),
    _Limit("`score_page` against trafilatura", _ratio("pages", SCORE_PAGE, TRAFILATURA, "per_cpu_second"), least=25),
    _Limit("one worker with its children against one Quix Streams, wall", _against_quix(QUIX), least=1.3),
    _Limit("one worker with its children against two Quix Streams, wall", _against_quix(QUIX_TWO), least=0.95),
    _Limit("two children against one, wall", _ratio("pages", assay_name(2), assay_name(1), "per_wall_second"), 1.35),
    _Limit("1 KB messages against the bare loop", _ratio("small messages", NOTES, BARE_NOTES, "per_cpu_second"), 0.5),
    _Limit("hostile mix: pages lost", _hostile("lost"), most=0, form="{:.0f}"),
    _Limit("hostile mix: pages twice", _hostile("twice"), most=0, form="{:.0f}"),
    _Limit("hostile mix: dead letters with the right reason, share of the faulty pages", _dead_letters, least=1),
    _Limit("hostile mix: faulty pages with another result", _hostile("wrong"), most=0, form="{:.0f}"),
    _Limit("hostile mix: rebalances", _hostile("rebalances"), most=0, form="{:.0f}"),
    _Limit("hostile mix: event-loop lag p99 against the clean stream", _hostile("lag_ratio"), most=3),
    _Limit("hostile mix: a hang beyond its deadline, s", _hostile("hang_cost"), most=0.3),
    _Limit("hostile mix: rate without the hangs against the clean stream", _hostile("rate_ratio"), least=0.9),
    _Limit("memory over 50 times the input: last third against the second", lambda r: r["growth"]["worst"], most=1.1),
)


def missed(results: Results) -> Iterator[str]:
    """The promises that the run shows to be broken."""
    return (row.promise for row in promises(results) if row.verdict == "missed")
