"""Does a judge of claims prefer a sentence that a person rewrote to be self-contained over the original sentence?

A pair is right if the rewrite scores higher; a tie counts half. AUC compares every rewrite with every original. The
weights were chosen by one half of each set. The word lists were not chosen by these sets: they have the words of
everyday claims (see ``tests/cases``). ``factscore_human_claims`` compares facts that begin with a pronoun with facts
that begin with the name. A pair is answered if both of its sentences have a score.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from handlers.claims.wording import score_of
from handlers.decontextualize_claim import DecontextualizeClaimRules
from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.outcome import Emit
from tests.rules import shipped_rules
from tests.samples import instance
from tools import labelled
from tools.accuracy.judges import OFFLINE, Judge, decide
from tools.accuracy.measure import Measure, Measures, Setup

WRITTEN = Path(__file__).parent / "written"
OWN, STANDING, FACTS = "written for Assay", "plain facts, written for Assay", "factscore_human_claims"
SETS = ("claims_factcheckgpt", "cast_context_rewrites")
GOOD, POOR = 0.7, 0.4
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Their|Its)\b")
_STEP = 7
"""Of thousands of facts, every so-manieth."""


class Pair(NamedTuple):
    """A sentence, what a person made of it, and where it stood."""

    before: str
    after: str
    source: str


async def measures(setup: Setup) -> Measures:
    pairs = {name: list(pairs_of(name)) for name in (*SETS, OWN) if name == OWN or labelled.has(name)}
    yield Measure(
        name="### Self-contained claims: pairwise accuracy and scores", cases=pairs, by="judge", figures=_figures,
        heads=("pairs", "answered", "pairwise", "AUC", "originals below 0.4", "below 0.7", "rewrites from 0.7"),
        **setup.judged(_both),
    )  # fmt: skip
    yield Measure(
        name="", cases=facts(), group=("claims",), by="judge", heads=("number", "below 0.4", "from 0.7"),
        figures=_shares, **setup.judged(lambda judge, fact: score(judge, *fact)),
    )  # fmt: skip


async def _both(judge: Judge, pair: Pair) -> tuple[float, float] | None:
    before, after = await score(judge, pair.before, pair.source), await score(judge, pair.after, pair.source)
    return None if before is None or after is None else (before, after)


async def score(judge: Judge, claim: str, source: str) -> float | None:
    """A claim's score through the handler; None if it has no score."""
    rules = shipped_rules(DecontextualizeClaimRules)
    event = ExtractedClaim(claim_id="c", claim_text=claim, source_text=source)
    features = rules.read(event) if judge.name == OFFLINE and claim else None
    if features and not features.is_claim:
        # The handler gives a question no score. Its wording has one, by which it is compared.
        return score_of(features, rules.claims.wording)
    outcome = await decide(judge, "decontextualize_claim", event, rules)
    evaluated = instance(ClaimEvaluated, outcome.events[0]) if isinstance(outcome, Emit) else None
    return evaluated.decontextualization_score if evaluated else None


def pairs_of(name: str) -> Iterator[Pair]:
    """The changed sentences of a set, with the answer or the conversation that they stood in."""
    if name == OWN:
        for case in labelled.rows(WRITTEN / "claims.jsonl"):
            yield Pair(case["claim"], case["alone"], f"{case['said']} {case['claim']}")
        return
    for case in labelled.cases(name):
        if case.get("needs_decontext"):
            yield Pair(case["sentence"].strip(), case["decontext"].strip(), case["response"])
        elif case.get("needs_context"):
            yield Pair(case["raw"].strip(), case["rewritten"].strip(), "\n".join(case["history"]))


def facts() -> dict[str, list[tuple[str, str]]]:
    """Facts that are self-contained or not, with their text: written ones, and single ones of biographies."""
    pronouns, named = f"{FACTS}, begin with a pronoun", f"{FACTS}, begin with the name"
    found: dict[str, list[tuple[str, str]]] = {pronouns: [], named: []}
    for case in labelled.cases(FACTS) if labelled.has(FACTS) else ():
        listed = [fact for part in case["annotations"] or () for fact in part.get("model_facts") or ()]
        found[pronouns] += [(fact, case["response"]) for fact in listed if _PRONOUN.match(fact)]
        found[named] += [(fact, case["response"]) for fact in listed if fact.startswith(f"{case['topic']} ")]
    written = [(case["claim"], "") for case in labelled.rows(WRITTEN / "standing.jsonl")]
    return {STANDING: written} | {name: pairs[::_STEP] for name, pairs in found.items()}


def pairwise(scores: Sequence[tuple[float, float]]) -> float:
    """The share of (before, after) in which ``after`` is higher; a tie counts half.

    >>> pairwise([(0.1, 0.9), (0.5, 0.5), (0.9, 0.1), (0.2, 0.3)])
    0.625
    """
    return sum((after > before) + (after == before) / 2 for before, after in scores) / len(scores)


def auc(scores: Sequence[tuple[float, float]]) -> float:
    """The chance that any rewrite is higher than any original; a tie counts half.

    >>> auc([(0.1, 0.4), (0.5, 0.9)])
    0.75
    """
    return pairwise([(before, after) for before, _ in scores for _, after in scores])


def _figures(scores: list[tuple[float, float]], asked: int) -> list[object]:
    count = len(scores)
    poor, below = (sum(before < bound for before, _ in scores) / count for bound in (POOR, GOOD))
    good = sum(after >= GOOD for _, after in scores) / count
    shares = (f"{value:.2f}" for value in (poor, below, good))
    return [asked, f"{count / asked:.2f}", f"{pairwise(scores):.3f}", f"{auc(scores):.3f}", *shares]


def _shares(scores: list[float], _: int) -> list[object]:
    counts = sum(score < POOR for score in scores), sum(score >= GOOD for score in scores)
    return [len(scores), *(f"{count / len(scores):.2f}" for count in counts)]
