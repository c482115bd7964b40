"""Judgments of relevance: agreement, precision and recall, compared with counting shared terms.

There are two kinds of cases. First, pages written for Assay, each with a query and pages that meet only its wider
subject (the word list of the offline judge was written with an eye on every second query). Second, headlines of
``tw_gov_news_relevance``, which are labelled for a government's AI programme and for its single projects; the queries
are a word for the programme and the names of the projects. The label is what a rule engine's author expects of a
headline. Headlines that the author left for a person to read are left out of the queries for a project.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance, read_relevance
from handlers.text.word_match import WordText, share_met, units_of
from schemas.outcome import Emit
from schemas.relevance import RelevanceJudged, RelevanceRequested
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.claims import WRITTEN
from tools.accuracy.judges import Judge, decide

SET = "tw_gov_news_relevance"
WORDS = ("AI", "人工智慧")
UNDECIDED = "待人工判讀"
_COLUMNS = ("cases", "relevant", "agreement", "precision", "recall", "F1")


class Case(NamedTuple):
    """A page as the gate sees it, and whether its label calls it relevant to the query."""

    query: str
    title: str
    summary: str
    relevant: bool


async def run(some: Sequence[Judge]) -> list[str]:
    """The table: every judge and the count on every group of cases."""
    lines = ["### Relevance: is a page worth reading for a query", ""]
    lines += [f"| cases | judge | {' | '.join(_COLUMNS)} |", "|---|---|" + "---:|" * len(_COLUMNS)]
    for title, cases in groups():
        for judge in some:
            counts: Counter[tuple[bool, bool]] = Counter()
            for case in judge.some(cases):
                if (said := await judged(judge, case)) is not None:
                    counts[case.relevant, said] += 1
            lines.append(row(title, judge.name, counts))
        counts = Counter((case.relevant, _shared(case) >= 0.5) for case in cases)
        lines.append(row(title, "half of the terms shared", counts))
    return lines


def groups() -> Iterator[tuple[str, list[Case]]]:
    """Cases by what they are."""
    for half, title in ((0, "first half"), (1, "second half")):
        yield f"written for Assay, {title}", [case for place, case in written() if place == half]
    if labelled.has(SET):
        rows = list(labelled.cases(SET))
        for word in WORDS:
            yield f"{SET}, “{word}”", [_headline(word, row, bool(row["expected_relevance"])) for row in rows]
        decided = [row for row in rows if row["expected_initiative"] != UNDECIDED]
        names = sorted({name for row in decided for name in row["expected_initiative"].split("|") if name})
        yield (
            f"{SET}, {len(names)} projects by name",
            [_headline(name, row, name in row["expected_initiative"].split("|")) for name in names for row in decided],
        )


def written() -> Iterator[tuple[int, Case]]:
    """The cases written for Assay, with their half."""
    for place, line in enumerate((WRITTEN / "gate.jsonl").read_text("utf-8").splitlines()):
        group = json.loads(line)
        for label in ("relevant", "irrelevant"):
            for page in group[label]:
                title, summary = page.split("|")
                yield place % 2, Case(group["query"], title, summary, label == "relevant")


async def judged(judge: Judge, case: Case) -> bool | None:
    """What a judge says through the handler; None where it was not to be had."""
    source = RelevanceRequested(
        request_id="r", query=case.query, url="https://case.invalid/", title=case.title, content=case.summary
    )
    outcome = await decide(judge, judge_relevance, read_relevance, source, shipped_rules(JudgeRelevanceRules))
    if not isinstance(outcome, Emit):
        return None
    verdict = outcome.events[0]
    assert isinstance(verdict, RelevanceJudged)
    return verdict.relevant


def row(title: str, judge: str, counts: Counter[tuple[bool, bool]]) -> str:
    """A row of the table from counts by (labelled relevant, judged relevant).

    >>> row("t", "j", Counter({(True, True): 1, (True, False): 1, (False, False): 2}))
    '| t | j | 4 | 2 | 0.750 | 1.000 | 0.500 | 0.667 |'
    """
    right = counts[True, True]
    labelled_so, judged_so = right + counts[True, False], right + counts[False, True]
    figures = (
        _share(right + counts[False, False], counts.total()),
        _share(right, judged_so),
        _share(right, labelled_so),
        _share(2 * right, labelled_so + judged_so),
    )
    return f"| {title} | {judge} | {counts.total()} | {labelled_so} | {' | '.join(figures)} |"


def _headline(query: str, row: dict[str, str], relevant: bool) -> Case:
    return Case(query, row["title"], row["summary"], relevant)


def _shared(case: Case) -> float:
    units = units_of(case.query, shipped_rules(JudgeRelevanceRules).queries.patterns.stop_words, {})
    return share_met(units, WordText(f"{case.title}\n{case.summary}"))


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"
