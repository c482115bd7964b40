"""A kind of accuracy: labelled cases, contestants that answer them, and what counts. One loop asks, one writer prints.

No rule is fitted to what is measured: where trees were grown on the cases, a contestant is grown without their site.
"""

import inspect
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from streams.settings.model import Settings
from tools.accuracy.judges import Judge
from tools.table import markdown

TOGETHER = "together"
Found = Mapping[tuple[Any, str], list[Any]]
"""What was matched, by row and contestant; None where there was no answer."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A question to several contestants.

    Attributes:
        name: The title of its table; "" continues the table above.
        cases: What is labelled, by its group.
        contestants: Each answers a case, at once or later; an answer of None is not matched.
        figures: The cells of a row and a contestant, of all values that are not None and the number of all.
        heads: Of the figures. If the contestants are columns, of those figures that are the same for all of them.
        match: Of a group, a case and an answer: the rows in which it counts, each with a value. An answer that is a
            value itself counts in the row of its group.
        group: The heads of the columns that name a row; () for a single row.
        by: The head of the contestants' column; "" where there is one.
        across: Whether the contestants are columns; then each has the last figure.
        most: Cases of each group that a contestant is asked at most; the same sample every time.
        miss: The text that shows a wrong answer; "" for a right one.
        note: What is printed below the table.
    """

    name: str
    cases: Mapping[Any, Sequence[Any]]
    contestants: Mapping[str, Callable[[Any], Any]]
    figures: Callable[[list[Any], int], Sequence[object]]
    heads: Sequence[str]
    match: Callable[[Any, Any, Any], Iterable[tuple[Any, Any]]] = lambda group, _, answer: [(group, answer)]
    group: Sequence[str] = ("set",)
    by: str = ""
    across: bool = False
    most: Mapping[str, int | None] = field(default_factory=dict)
    miss: Callable[[Any, Any, Any], str] = lambda *_: ""
    note: Callable[[Found], str] = lambda _: ""


Measures = AsyncIterator[Measure]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a run is given: the sets of pages, the judges, and a file of whole injection cases."""

    sets: tuple[str, ...]
    settings: Settings
    judges: Sequence[Judge] = ()
    most_queries: int | None = None
    cases: Path | None = None

    def judged(self, ask: Callable[[Judge, Any], Any]) -> dict[str, Any]:
        contestants = {judge.name: partial(ask, judge) for judge in self.judges}
        return {"contestants": contestants, "most": {judge.name: judge.most_cases for judge in self.judges}}


async def measured(measure: Measure, misses: int = 0) -> str:
    """Asks every contestant about every case; returns the table, and prints the first misses of the first one."""
    found: dict[tuple[Any, str], list[Any]] = {}
    wrong: list[str] = []
    first = next(iter(measure.contestants), "")
    for group, cases in measure.cases.items():
        for name, ask in measure.contestants.items():
            for case in sampled(cases, measure.most.get(name)):
                answer = ask(case)
                if inspect.isawaitable(answer):
                    answer = await answer
                rows = [(group, None)] if answer is None else measure.match(group, case, answer)
                for row, value in rows:
                    found.setdefault((row, name), []).append(value)
                    if name == first and len(wrong) < misses and (text := measure.miss(case, answer, value)):
                        wrong.append(text)
    print(*dict.fromkeys(wrong), sep="\n", end="\n" * bool(wrong))
    return _table(measure, found) + measure.note(found)


def sampled(cases: Sequence[Any], most: int | None) -> Sequence[Any]:
    """At most so many of the cases, the same ones every time."""
    return cases if most is None or len(cases) <= most else random.Random(0).sample(list(cases), most)


def _table(measure: Measure, found: Found) -> str:
    """A row that is no group, such as that of all groups, is below the groups."""
    places = sorted(found, key=lambda place: place[0] not in measure.cases)
    known = {place: [value for value in found[place] if value is not None] for place in places}
    cells = {place: [*measure.figures(values, len(found[place]))] for place, values in known.items() if values}
    if not measure.across:
        texts = [*measure.group, *([measure.by] if measure.by else ())]
        rows = []
        for (row, name), figures in cells.items():
            names = row if isinstance(row, tuple) else (row,)
            rows.append([*names[: len(measure.group)], *([name] if measure.by else ()), *figures])
        return markdown(measure.name, [*texts, *measure.heads], rows, texts=len(texts))
    who = [name for name in measure.contestants if any(name == asked for _, asked in cells)]
    rows = [
        [row, *cells[row, who[0]][:-1], *(cells[row, name][-1] for name in who)]
        for row in dict.fromkeys(row for row, _ in cells)
    ]
    return markdown(measure.name, [*measure.group, *measure.heads, *who], rows)
