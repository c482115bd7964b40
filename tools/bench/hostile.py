"""Pages that hang, crash their process or take 3 GB, among ordinary ones, and what must come of them.

No real page does that on demand, so a function in place of ``score_page`` reads the page's context: it marks the fault.
The function also writes down, in a file, when a fault begins and when a process has its first page.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from handlers.score_page import ScorePageRules, score_page
from schemas.outcome import Outcome
from schemas.pages import CrawledPage
from streams.topology import HANDLERS
from tools.bench.pages import Record

JOURNAL = "BENCH_JOURNAL"
"""The environment variable with the journal's path."""
ONE_IN = 1000
REASONS = {"hang": "took_too_long", "crash": "crashed", "memory": "out_of_memory"}
"""What a page of each kind becomes."""
_MARK = "bench:"
_ORDINARY = "page"
_CHUNK, _TAKEN = 16 << 20, 3 << 30
_SIGN_SECONDS = 0.01
"""CPU time between two signs of life of a page that hangs."""
_known = False
"""Whether this process is in the journal."""


class Entry(NamedTuple):
    """A line of the journal."""

    at: float
    process: int
    what: str
    cpu: float = 0.0
    """CPU seconds of the process so far."""


class Hang(NamedTuple):
    """How long one page blocked its process.

    Attributes:
        seconds: Until the process ended. This is longer than the deadline where the process waited for a CPU.
        beyond: CPU seconds beyond the deadline, and the seconds from the end of the process until another one had its
            first page.
    """

    seconds: float
    beyond: float


def score_or_fail(page: CrawledPage, rules: ScorePageRules) -> Outcome:
    """``score_page``, except for marked pages."""
    global _known
    mark = (page.context or "").removeprefix(_MARK) if (page.context or "").startswith(_MARK) else ""
    if mark and not _known:
        _known = True
        _note("first")
    if mark in REASONS:
        _note(mark)
        _FAULTS[mark]()
    return score_page(page, rules)


HOSTILE = replace(HANDLERS[0], fn=score_or_fail)


def marked(records: Iterable[Record], one_in: int = ONE_IN) -> Iterator[tuple[str, Record]]:
    """Each record with its mark, and the mark's name: in each ``one_in`` records one of each fault; 0 for no faults."""
    kinds = {(place + 1) * one_in // (len(REASONS) + 1): kind for place, kind in enumerate(REASONS)}
    for number, (key, value, headers) in enumerate(records):
        kind = kinds.get(number % one_in, _ORDINARY) if one_in else _ORDINARY
        yield kind, (key, value, [*headers, ("assay_context", f"{_MARK}{kind}".encode())])


def read_journal(path: Path) -> list[Entry]:
    """The entries in the order of time."""
    rows = (line.split() for line in path.read_text("ascii").splitlines())
    return sorted(Entry(float(at), int(process), what, float(cpu)) for at, process, what, cpu in rows)


def hangs_of(journal: Sequence[Entry], deadline: float) -> list[Hang]:
    """Every hang after which a process had its first page.

    >>> told = [Entry(2.0, 1, "hang", 1.0), Entry(9.0, 1, "hanging", 6.0), Entry(9.1, 2, "first")]
    >>> [(seconds, round(beyond, 3)) for seconds, beyond in hangs_of(told, 5.0)]
    [(7.0, 0.1)]
    """
    firsts = [entry for entry in journal if entry.what == "first"]
    hangs = []
    for begin in (entry for entry in journal if entry.what == "hang"):
        end = max(entry for entry in journal if entry.process == begin.process)
        after = next((first for first in firsts if first.at > end.at), None)
        if after is not None:
            firsts.remove(after)
            hangs.append(Hang(end.at - begin.at, end.cpu - begin.cpu - deadline + after.at - end.at))
    return hangs


@dataclass(frozen=True)
class Verdicts:
    """What became of the pages.

    Attributes:
        processed: Ordinary pages with exactly the results that they have without the faulty ones.
        lost: Without one of these results.
        twice: With more results.
        dead: Faulty pages by the reason of their only dead letter.
        wrong: Faulty pages with anything else than that one dead letter.
    """

    processed: int
    lost: int
    twice: int
    dead: dict[str, int]
    wrong: int

    @property
    def flawless(self) -> bool:
        """Whether every page became what it must."""
        return not (self.lost or self.twice or self.wrong)


Results = Mapping[bytes, Counter[str]]
"""By a page's key: ``scored`` or the reason of its dead letter, and how often."""


def judge(kinds: Mapping[bytes, str], clean: Results, mixed: Results) -> Verdicts:
    """Compares the results of a stream with faulty pages with those of the same stream without.

    Args:
        kinds: ``page`` or the fault of each page, by its key.
        clean: The results without faults.
        mixed: The results with them.
    """
    none: Counter[str] = Counter()
    processed = lost = twice = wrong = 0
    dead: Counter[str] = Counter()
    for key, kind in kinds.items():
        want = clean.get(key, none) if kind == _ORDINARY else Counter([REASONS[kind]])
        got = mixed.get(key, none)
        if kind != _ORDINARY:
            wrong += got != want
            dead[REASONS[kind]] += got == want
        elif got == want and got:
            processed += 1
        elif got > want:
            twice += 1
        else:
            lost += 1
    return Verdicts(processed, lost, twice, dict(dead), wrong)


def _hang() -> None:
    noted = time.process_time()
    while True:
        if time.process_time() > noted + _SIGN_SECONDS:
            noted = time.process_time()
            _note("hanging")


def _crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _take_memory() -> None:
    held: list[bytes] = []
    while len(held) * _CHUNK < _TAKEN:
        held.append(b"\1" * _CHUNK)


_FAULTS = {"hang": _hang, "crash": _crash, "memory": _take_memory}


def _note(what: str) -> None:
    if path := os.environ.get(JOURNAL):
        # One write of a short line to a file opened for appending is not torn.
        with Path(path).open("a", buffering=1, encoding="ascii") as file:
            file.write(f"{time.monotonic():.6f} {os.getpid()} {what} {time.process_time():.6f}\n")
