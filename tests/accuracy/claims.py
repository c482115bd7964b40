"""Does the offline judge of claims prefer a sentence that a person rewrote to stand alone over the sentence before?

A pair is right where the rewrite scores higher; a tie counts half. AUC compares every rewrite with every original. The
halves are told apart by a hash of the split key; weights were chosen with an eye on the first half only. Beside it
stands the count of pronouns alone, and the judge without what longer sentences have by being longer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from handlers.claims.signs import ClaimSigns, signs_of, weigh
from handlers.decontextualize_claim import DecontextualizeClaimRules
from tests import labelled
from tests.rules import shipped_rules

GOALS = {"claims_factcheckgpt": 0.85, "cast_context_rewrites": 0.82}
GOOD = 0.7
Judge = Callable[[str, str], float]


class Pair(NamedTuple):
    """A sentence, what a person made of it, and where it stood."""

    half: int
    before: str
    after: str
    source: str


def run() -> list[str]:
    """A table of every set that is here, as lines of text."""
    lines = ["", "### Claims that stand alone", ""]
    lines.append(
        "| set | half | judge | pairs | pairwise accuracy | AUC | originals below 0.7 | rewrites from 0.7 | goal |"
    )
    lines.append("|---|---|---|---:|---:|---:|---:|---:|---|")
    for name, goal in GOALS.items():
        pairs = list(pairs_of(name)) if labelled.has(name) else []
        for half, title in ((0, "first"), (1, "second"), (None, "both")):
            here = [pair for pair in pairs if half in (None, pair.half)]
            for judge_name, judge in judges().items() if here else ():
                lines.append(_row(name, title, judge_name, here, judge, goal))
    return lines


def judges() -> dict[str, Judge]:
    """The offline judge, the same without length and subject, and pronouns alone."""
    section = shipped_rules(DecontextualizeClaimRules).claims.signs
    plain = section.weights.model_copy(update={"shortness": 0.0, "topic": 0.0})
    shorn = section.model_copy(update={"weights": plain})
    return {
        "offline": lambda claim, source: weigh(signs_of(claim, source, section), section),
        "offline, without length and subject": lambda claim, source: weigh(signs_of(claim, source, shorn), shorn),
        "pronouns alone": lambda claim, source: -_pronouns(claim, source, section),
    }


def pairs_of(name: str) -> Iterator[Pair]:
    """The changed sentences of a set, with the answer or the conversation that they stood in."""
    for case in labelled.cases(name):
        half = hashlib.sha256(case["split_key"].encode()).digest()[0] % 2
        if case.get("needs_decontext"):
            yield Pair(half, case["sentence"].strip(), case["decontext"].strip(), case["response"])
        elif case.get("needs_context"):
            yield Pair(half, case["raw"].strip(), case["rewritten"].strip(), "\n".join(case["history"]))


def pairwise(scores: Sequence[tuple[float, float]]) -> float:
    """The share of (before, after) in which ``after`` is higher; a tie counts half.

    >>> pairwise([(0.1, 0.9), (0.5, 0.5), (0.9, 0.1), (0.2, 0.3)])
    0.625
    """
    return sum(_win(before, after) for before, after in scores) / len(scores)


def auc(scores: Sequence[tuple[float, float]]) -> float:
    """The chance that any rewrite is higher than any original; a tie counts half.

    >>> auc([(0.1, 0.4), (0.5, 0.9)])
    0.75
    """
    total = sum(_win(before, after) for before, _ in scores for _, after in scores)
    return total / len(scores) ** 2


def _win(before: float, after: float) -> float:
    return 1.0 if after > before else 0.5 if after == before else 0.0


def _pronouns(claim: str, source: str, section: ClaimSigns) -> float:
    signs = signs_of(claim, source, section)
    return signs["pronoun"] + signs["resolved_pronoun"]


def _row(name: str, half: str, judge_name: str, pairs: Sequence[Pair], judge: Judge, goal: float) -> str:
    scores = [(judge(pair.before, pair.source), judge(pair.after, pair.source)) for pair in pairs]
    figure = pairwise(scores)
    cells = [name, half, judge_name, str(len(pairs)), f"{figure:.3f}", f"{auc(scores):.3f}"]
    if judge_name == "pronouns alone":
        return f"| {' | '.join(cells)} | | | |"
    below = sum(before < GOOD for before, _ in scores) / len(scores)
    above = sum(after >= GOOD for _, after in scores) / len(scores)
    verdict = ("met" if figure >= goal else "**short**") if judge_name == "offline" else ""
    return f"| {' | '.join(cells)} | {below:.2f} | {above:.2f} | {f'{goal:.2f} {verdict}' if verdict else ''} |"
