"""The relevance gate's offline judge on labelled headlines: agreement, precision, recall.

A headline of ``tw_gov_news_relevance`` is labelled for one subject of a government's programmes; it is judged by its
title and summary against queries that name the subject, in one word and by the programme's name.
"""

from __future__ import annotations

from collections import Counter

from handlers.judge_relevance import JudgeRelevanceRules, judge_relevance, read_word
from handlers.offline.judge_relevance import answer
from schemas.outcome import Ask, AskModel
from schemas.relevance import RelevanceOutcome, RelevanceRequested
from tests import labelled
from tests.rules import shipped_rules

SET = "tw_gov_news_relevance"
QUERIES = ("AI", "AI新十大建設")


def run() -> list[str]:
    """The table, one row a query; nothing where the set is not here."""
    if not labelled.has(SET):
        return []
    rules = shipped_rules(JudgeRelevanceRules)
    lines = ["", f"### Relevance gate, offline judge, on {SET}", ""]
    lines.append("| query | headlines | relevant | agreement | precision | recall |")
    lines.append("|---|---:|---:|---:|---:|---:|")
    for query in QUERIES:
        counts = Counter((bool(case["expected_relevance"]), _judged(query, case, rules)) for case in _cases())
        lines.append(row(query, counts))
    return lines


def row(query: str, counts: Counter[tuple[bool, bool]]) -> str:
    """A row of the table from counts by (labelled relevant, judged relevant).

    >>> row("q", Counter({(True, True): 1, (True, False): 1, (False, False): 2}))
    '| q | 4 | 2 | 0.750 | 1.000 | 0.500 |'
    """
    right = counts[True, True]
    labelled_so, judged_so = right + counts[True, False], right + counts[False, True]
    figures = (
        _share(right + counts[False, False], counts.total()),
        _share(right, judged_so),
        _share(right, labelled_so),
    )
    return f"| {query} | {counts.total()} | {labelled_so} | {' | '.join(figures)} |"


def _cases() -> list[dict[str, str]]:
    return list(labelled.cases(SET))


def _judged(query: str, case: dict[str, str], rules: JudgeRelevanceRules) -> bool:
    source = RelevanceRequested(
        request_id=case["id"], query=query, url=labelled.address(case), title=case["title"], content=case["summary"]
    )
    ask = judge_relevance(source, rules)
    if not isinstance(ask, Ask) or not isinstance(ask.need, AskModel):
        return False
    return read_word(answer(ask.need.facts)) is RelevanceOutcome.RELEVANT


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"
