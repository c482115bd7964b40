"""Judgments of relevance: agreement, precision and recall, compared with counting shared terms.

There are two kinds of cases. First, pages written for Assay, each with a query and pages that meet only its wider
subject (the word list of the offline judge was written with an eye on every second query). Second, headlines of
``tw_gov_news_relevance``, which are labelled for a government's AI programme and for its single projects; the queries
are a word for the programme and the names of the projects. The label is what a rule engine's author expects of a
headline. Headlines that the author left for a person to read are left out of the queries for a project.
"""

from collections import Counter
from typing import NamedTuple

from handlers.judge_relevance import JudgeRelevanceRules
from handlers.text.word_match import WordText, share_met, units_of
from schemas.outcome import Emit
from schemas.relevance import RelevanceJudged, RelevanceRequested
from tests.rules import shipped_rules
from tests.samples import instance
from tools import labelled
from tools.accuracy.claims import WRITTEN
from tools.accuracy.judges import Judge, decide
from tools.accuracy.measure import Measure, Measures, Setup
from tools.table import share

SET = "tw_gov_news_relevance"
WORDS = ("AI", "人工智慧")
UNDECIDED = "待人工判讀"


class Case(NamedTuple):
    """A page as the gate sees it, and whether its label calls it relevant to the query."""

    query: str
    title: str
    summary: str
    relevant: bool


async def measures(setup: Setup) -> Measures:
    asked = setup.judged(judged)
    asked["contestants"]["half of the terms shared"] = shared
    yield Measure(
        name="### Relevance: is a page worth reading for a query", cases=groups(), group=("cases",), by="judge",
        match=lambda group, case, relevant: [(group, (case.relevant, relevant))], figures=figures,
        heads=("cases", "relevant", "agreement", "precision", "recall", "F1"), **asked,
    )  # fmt: skip


def groups() -> dict[str, list[Case]]:
    first, second = (f"written for Assay, {half} half" for half in ("first", "second"))
    found: dict[str, list[Case]] = {first: [], second: []}
    for place, group in enumerate(labelled.rows(WRITTEN / "gate.jsonl")):
        pages = [(page, label == "relevant") for label in ("relevant", "irrelevant") for page in group[label]]
        for (title, summary), relevant in ((page.split("|"), relevant) for page, relevant in pages):
            found[second if place % 2 else first].append(Case(group["query"], title, summary, relevant))
    if labelled.has(SET):
        rows = list(labelled.cases(SET))
        for word in WORDS:
            found[f"{SET}, “{word}”"] = [_headline(word, row, bool(row["expected_relevance"])) for row in rows]
        decided = [row for row in rows if row["expected_initiative"] != UNDECIDED]
        names = sorted({name for row in decided for name in row["expected_initiative"].split("|") if name})
        found[f"{SET}, {len(names)} projects by name"] = [
            _headline(name, row, name in row["expected_initiative"].split("|")) for name in names for row in decided
        ]
    return found


def shared(case: Case) -> bool:
    units = units_of(case.query, shipped_rules(JudgeRelevanceRules).queries.patterns.stop_words, {})
    return share_met(units, WordText(f"{case.title}\n{case.summary}")) >= 0.5


async def judged(judge: Judge, case: Case) -> bool | None:
    rules = shipped_rules(JudgeRelevanceRules)
    source = RelevanceRequested(
        request_id="r", query=case.query, url="https://case.invalid/", title=case.title, content=case.summary
    )
    outcome = await decide(judge, "judge_relevance", source, rules)
    return instance(RelevanceJudged, outcome.events[0]).relevant if isinstance(outcome, Emit) else None


def figures(pairs: list[tuple[bool, bool]], _: int) -> list[object]:
    """The figures of pairs of (labelled relevant, judged relevant).

    >>> figures([(True, True), (True, False), (False, False), (False, False)], 4)
    [4, 2, '0.750', '1.000', '0.500', '0.667']
    """
    counts = Counter(pairs)
    right = counts[True, True]
    labelled_so, judged_so = right + counts[True, False], right + counts[False, True]
    agreement = share(right + counts[False, False], len(pairs))
    precision, recall = share(right, judged_so), share(right, labelled_so)
    return [len(pairs), labelled_so, agreement, precision, recall, share(2 * right, labelled_so + judged_so)]


def _headline(query: str, row: dict[str, str], relevant: bool) -> Case:
    return Case(query, row["title"], row["summary"], relevant)
