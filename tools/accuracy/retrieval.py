"""Retrieval judged: does a batch that has a claim's evidence score higher than one that has not?

``wice_claim_support`` has sentences of an encyclopedia with the article that each cites, and persons marked the
sentences that support it. The claim is the query. One batch has the passages with a smallest set of supporting
sentences; the other as many passages of the same article with none. So both are on the subject, and only one has what
was asked for. Recall and precision should be higher for the first; a tie counts half. Of ``sourceQuality`` no set here
is labelled: it is not measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from handlers.classify_results import ClassifyResultsRules, classify_results
from handlers.evaluate_retrieval import EvaluateRetrievalRules, evaluate_retrieval, read_retrieval
from schemas.outcome import Emit
from schemas.retrieval import ResultsClassified, RetrievalBatch, RetrievalEvaluated, RetrievalScores, RetrievedContent
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.claims import auc, pairwise
from tools.accuracy.judges import Judge, decide

SET = "wice_claim_support"
SENTENCES = 5
"""Of a passage."""
MOST_PASSAGES = 4
_COLUMNS = ("pairs", "recall: pairwise", "recall: AUC", "precision: pairwise", "precision: AUC")


class Case(NamedTuple):
    """A claim with the passages that have its evidence, and as many others."""

    claim: str
    supporting: tuple[str, ...]
    others: tuple[str, ...]


async def run(some: Sequence[Judge]) -> list[str]:
    """The table; nothing where the set is not here."""
    cases = list(cases_of()) if labelled.has(SET) else []
    if not cases:
        return []
    lines = ["### Retrieval: batches with and without the evidence", ""]
    lines += [f"| set | judge | {' | '.join(_COLUMNS)} |", "|---|---|" + "---:|" * len(_COLUMNS)]
    for judge in some:
        chosen = judge.some(cases)
        both = [
            (await scores_of(judge, case.claim, case.others), await scores_of(judge, case.claim, case.supporting))
            for case in chosen
        ]
        known = [(without, having) for without, having in both if without is not None and having is not None]
        if known:
            recall = [(without.context_recall, having.context_recall) for without, having in known]
            precision = [(without.context_precision, having.context_precision) for without, having in known]
            figures = [pairwise(recall), auc(recall), pairwise(precision), auc(precision)]
            lines.append(f"| {SET} | {judge.name} | {len(known)} | {' | '.join(f'{value:.3f}' for value in figures)} |")
    return lines


def cases_of() -> Iterator[Case]:
    """Supported claims whose article has enough passages apart from those with the evidence."""
    for row in labelled.cases(SET):
        if row["label"] == "supported" and (case := case_of(row)) is not None:
            yield case


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
    evaluated = await evaluated_by(
        judge,
        query,
        [RetrievedContent(url=f"https://case.invalid/{n}", content=text) for n, text in enumerate(passages)],
    )
    return evaluated.scores if evaluated else None


async def evaluated_by(judge: Judge, query: str, contents: Sequence[RetrievedContent]) -> RetrievalEvaluated | None:
    """What becomes of a batch."""
    batch = RetrievalBatch(batch_id="b", query=query, retrieved_content=tuple(contents))
    classified = classify_results(batch, shipped_rules(ClassifyResultsRules))
    assert isinstance(classified, Emit)
    event = classified.events[0]
    assert isinstance(event, ResultsClassified)
    outcome = await decide(judge, evaluate_retrieval, read_retrieval, event, shipped_rules(EvaluateRetrievalRules))
    if not isinstance(outcome, Emit):
        return None
    (evaluated,) = outcome.events
    assert isinstance(evaluated, RetrievalEvaluated)
    return evaluated
