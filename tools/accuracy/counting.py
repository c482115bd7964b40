"""Counting right, wrong and missing answers, contestant by contestant and set by set; the misses are kept, to look at.

A tally has one line a contestant and set. ``share`` is right answers among what is labelled (recall), ``precision``
right answers among what was answered there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

TOGETHER = "together"


@dataclass(slots=True)
class Count:
    """Answers of one contestant on one set.

    Attributes:
        labelled: How many there were to find.
        unlabelled_answers: Answers where the set says that there is nothing; they count in ``overall_precision`` only.
    """

    labelled: int = 0
    right: int = 0
    wrong: int = 0
    unlabelled_answers: int = 0

    @property
    def missing(self) -> int:
        """Labelled, but not answered."""
        return self.labelled - self.right - self.wrong

    @property
    def share(self) -> float | None:
        """Right among labelled; None where nothing is labelled."""
        return self.right / self.labelled if self.labelled else None

    @property
    def precision(self) -> float | None:
        """Right among answered, where something is labelled."""
        answered = self.right + self.wrong
        return self.right / answered if answered else None

    @property
    def overall_precision(self) -> float | None:
        """Right among answered, on pages too of which the set says that there is nothing to answer."""
        answered = self.right + self.wrong + self.unlabelled_answers
        return self.right / answered if answered else None


@dataclass(frozen=True, slots=True)
class Miss:
    """A case that Assay has wrong or missing, with the other contestants' answers.

    Attributes:
        found_by: Those who have it right.
    """

    place: str
    label: str
    answers: dict[str, str]
    found_by: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """One question that was put to several contestants on several sets.

    Attributes:
        question: What was asked, as the table's title.
        contestants: The programs that could answer, in the table's order.
    """

    question: str
    contestants: tuple[str, ...]
    counts: dict[tuple[str, str], Count] = field(default_factory=lambda: defaultdict(Count))
    misses: list[Miss] = field(default_factory=list)

    def add(
        self, group: str, contestant: str, *, is_right: bool, is_answered: bool = True, kind: str | None = None
    ) -> None:
        """Counts one labelled case; a right case is an answered one. Of a kind, it counts once more under its name."""
        for name in (group, TOGETHER, f"{group}, {kind}") if kind else (group, TOGETHER):
            count = self.counts[name, contestant]
            count.labelled += 1
            count.right += is_right
            count.wrong += is_answered and not is_right

    def add_unlabelled(self, group: str, contestant: str) -> None:
        """Counts an answer for a case that the set labels as empty."""
        for name in (group, TOGETHER):
            self.counts[name, contestant].unlabelled_answers += 1

    def groups(self) -> Iterator[str]:
        """The sets with something labelled, and at last all together where there are several."""
        groups = list(dict.fromkeys(name for (name, _), count in self.counts.items() if count.labelled))
        single = [name for name in groups if name != TOGETHER and "," not in name]
        yield from single
        if len(single) > 1:
            yield TOGETHER

    def kinds(self) -> list[str]:
        """The kinds of page inside the sets that tell them."""
        return sorted({name for (name, _), count in self.counts.items() if "," in name and count.labelled})

    def of(self, contestant: str, group: str = TOGETHER) -> Count:
        """The count of a contestant."""
        return self.counts.get((group, contestant), Count())
