"""Retrieval judged: does a batch that has a claim's evidence score higher than one that has not?

``wice_claim_support`` has sentences of an encyclopedia with the article that each cites, and persons marked the
sentences that support it. The claim is the query. One batch has the passages with a smallest set of supporting
sentences; the other as many passages of the same article with none. So both are on the subject, and only one has what
was asked for. Recall and precision should be higher for the first; a tie counts half. Of ``sourceQuality`` no set here
is labelled: it is not measured.
"""

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules
from schemas.outcome import Emit
from schemas.retrieval import RetrievalBatch, RetrievalEvaluated, RetrievalScores, RetrievedContent
from tests.rules import shipped_rules
from tests.samples import instance
from tools import labelled
from tools.accuracy.claims import auc, pairwise
from tools.accuracy.judges import Judge, decide
from tools.accuracy.measure import Measure, Measures, Setup

SET = "wice_claim_support"
SENTENCES = 5
"""Of a passage."""
MOST_PASSAGES = 4
Scores = tuple[RetrievalScores, RetrievalScores]
"""Without the evidence, and with it."""


class Case(NamedTuple):
    """A claim with the passages that have its evidence, and as many others."""

    claim: str
    supporting: tuple[str, ...]
    others: tuple[str, ...]


async def measures(setup: Setup) -> Measures:
    if labelled.has(SET):
        yield Measure(
            name="### Retrieval: batches with and without the evidence", cases={SET: list(cases_of())}, by="judge",
            heads=("pairs", "recall: pairwise", "recall: AUC", "precision: pairwise", "precision: AUC"),
            figures=_figures, **setup.judged(_both),
        )  # fmt: skip


async def _both(judge: Judge, case: Case) -> Scores | None:
    without, having = [await scores_of(judge, case.claim, texts) for texts in (case.others, case.supporting)]
    return None if without is None or having is None else (without, having)


def _figures(known: list[Scores], _: int) -> list[object]:
    recall = [(without.context_recall, having.context_recall) for without, having in known]
    precision = [(without.context_precision, having.context_precision) for without, having in known]
    values = (measure(scores) for scores in (recall, precision) for measure in (pairwise, auc))
    return [len(known), *(f"{value:.3f}" for value in values)]


def cases_of() -> Iterator[Case]:
    """Supported claims whose article has enough passages apart from those with the evidence."""
    made = (case_of(row) for row in labelled.cases(SET) if row["label"] == "supported")
    yield from (case for case in made if case is not None)


def case_of(row: dict[str, Any]) -> Case | None:
    """A claim's passages; None where all of its article is evidence, or the evidence is all over it."""
    evidence = [sentence for sentence in row["evidence"] if not sentence.startswith("(meta data)")]
    left_out = len(row["evidence"]) - len(evidence)
    sets = [[place - left_out for place in places] for places in row["supporting_sentences"]]
    sets = [places for places in sets if places and min(places) >= 0]
    if not sets:
        return None
    passages = [" ".join(evidence[at : at + SENTENCES]) for at in range(0, len(evidence), SENTENCES)]
    needed = sorted({place // SENTENCES for place in min(sets, key=len)})
    marked = {place // SENTENCES for places in sets for place in places}
    free = [place for place in range(len(passages)) if place not in marked]
    if len(needed) > MOST_PASSAGES or len(free) < len(needed):
        return None
    chosen = random.Random(row["id"]).sample(free, len(needed))
    return Case(row["claim"], tuple(passages[place] for place in needed), tuple(passages[place] for place in chosen))


async def scores_of(judge: Judge, query: str, passages: Sequence[str]) -> RetrievalScores | None:
    """The dimensions of a batch, by both handlers with this judge; None where the judge was not to be had."""
    contents = [RetrievedContent(url=f"https://case.invalid/{n}", content=text) for n, text in enumerate(passages)]
    batch = RetrievalBatch(batch_id="b", query=query, retrieved_content=tuple(contents))
    classified = instance(Emit, classify_results(batch, shipped_rules(ClassifyResultsRules))).events[0]
    outcome = await decide(judge, "evaluate_retrieval", classified, shipped_rules(EvaluateRetrievalRules))
    return instance(RetrievalEvaluated, outcome.events[0]).scores if isinstance(outcome, Emit) else None
