"""One question that is put to several contestants on labelled pages: how much is right, and what is wrong.

A match gives (right, labelled, answered). A cell of the table has right among labelled, then right among answered. An
answer counts as wrong where a set says that there is nothing to answer; a page without a label counts for nothing.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tools.accuracy.contestants import ASSAY, HTMLDATE, TRAFILATURA, Answer, Answers
from tools.accuracy.labels import LabelledPage
from tools.accuracy.matching import day_of, matched_persons, same_text
from tools.table import markdown, share

Asked = list[tuple[LabelledPage, Answers]]
Counted = tuple[int, int, int]
TOGETHER = "together"
_SHAPES = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "\u200b": None, "\xad": None}
)


@dataclass(frozen=True)
class Measure:
    """A question.

    Attributes:
        name: The title of its table.
        contestants: The programs that could answer.
        label: What is labelled of a page; None for nothing.
        answer: What an answer says.
        match: (right, labelled, answered) of a label and an answer.
    """

    name: str
    contestants: tuple[str, ...]
    label: Callable[[LabelledPage], Any]
    answer: Callable[[Answer], Any]
    match: Callable[[Any, Any], Counted]


@dataclass
class Measured:
    """The counts of a question by set and contestant, and the pages that Assay has wrong or missing."""

    measure: Measure
    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    misses: list[str] = field(default_factory=list)

    def of(self, contestant: str, group: str = TOGETHER) -> Counter[str]:
        """The counts of a contestant."""
        return self.counts[group, contestant]

    def table(self) -> str:
        """Sets down, contestants across."""
        who = [name for name in self.measure.contestants if self.of(name)["labelled"]]
        groups = [group for group in dict.fromkeys(group for group, _ in self.counts) if group != TOGETHER]
        rows = [
            [group, self.of(who[0], group)["labelled"], *(_cell(self.of(name, group)) for name in who)]
            for group in (*groups, TOGETHER)
            if who and self.of(who[0], group)["labelled"]
        ]
        return markdown(f"### {self.measure.name}", ["set", "labelled", *who], rows)


def measured(measure: Measure, asked: Asked) -> Measured:
    """Counts all answers."""
    result = Measured(measure)
    for page, answers in asked:
        if (label := measure.label(page)) is None:
            continue
        said = {name: measure.answer(answers[name]) for name in measure.contestants if name in answers}
        for name, answer in said.items():
            found = dict(zip(("right", "labelled", "answered"), measure.match(label, answer), strict=True))
            for group in (page.set, TOGETHER):
                result.counts[group, name].update(found)
            if name == ASSAY and found["right"] < found["labelled"]:
                result.misses.append(f"{page.place}: {str(label)[:200]} | {str(said)[:300]}")
    return result


def flat(text: str) -> str:
    """A text without what contestants print each in their own way."""
    return "".join(unicodedata.normalize("NFKC", text.translate(_SHAPES)).casefold().split())


def _single(same: Callable[[Any, str], bool]) -> Callable[[Any, str | None], Counted]:
    """The match of a label with one answer."""
    return lambda label, said: (int(bool(said) and same(label, said or "")), 1, int(bool(said)))


def _cell(count: Counter[str]) -> str:
    right = share(count["right"], count["labelled"])
    return f"{right} / {share(count['right'], count['answered'])}" if count["answered"] else right


MEASURES: dict[str, tuple[Measure, ...]] = {
    "dates": (
        Measure(
            "Publication date, right to the day", (ASSAY, *HTMLDATE, TRAFILATURA), lambda page: page.days or None,
            lambda answer: answer.date, _single(lambda days, said: day_of(said) in days),
        ),
    ),
    "authors": (
        Measure(
            "Authors, by persons", (ASSAY, TRAFILATURA), lambda page: page.authors, lambda answer: answer.authors,
            matched_persons,
        ),
    ),
    "features": tuple(
        Measure(
            f"{name.replace('_', ' ').capitalize()}, equal to the label", (ASSAY, TRAFILATURA),
            attrgetter(name), attrgetter(name), _single(same_text),
        )
        for name in ("title", "site_name", "language")
    ),
}  # fmt: skip
"""The questions of each part."""
