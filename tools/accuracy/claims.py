"""Does a judge of claims prefer a sentence that a person rewrote to be self-contained over the original sentence?

A pair is right if the rewrite scores higher; a tie counts half. AUC compares every rewrite with every original. The
weights were chosen by one half of each set. The word lists were not chosen by these sets: they have the words of
everyday claims (see ``tests/cases``). ``factscore_human_claims`` compares facts that begin with a pronoun with facts
that begin with the name. A pair is answered if both of its sentences have a score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from handlers.claims.wording import score_of
from handlers.decontextualize_claim import DecontextualizeClaimRules, decontextualize_claim, read_judgment
from schemas.claims import ClaimEvaluated, ExtractedClaim
from schemas.outcome import Emit
from tests.rules import shipped_rules
from tools import labelled
from tools.accuracy.judges import OFFLINE, Judge, decide

WRITTEN = Path(__file__).parent / "written"
OWN, STANDING, FACTS = "written for Assay", "plain facts, written for Assay", "factscore_human_claims"
SETS = ("claims_factcheckgpt", "cast_context_rewrites")
GOOD, POOR = 0.7, 0.4
_PRONOUN = re.compile(r"(?:He|She|It|They|His|Her|Their|Its)\b")
_STEP = 7
"""Of thousands of facts, every so-manieth."""
_COLUMNS = ("pairs", "answered", "pairwise", "AUC", "originals below 0.4", "below 0.7", "rewrites from 0.7")
Score = Callable[[str, str], Awaitable[float | None]]


class Pair(NamedTuple):
    """A sentence, what a person made of it, and where it stood."""

    before: str
    after: str
    source: str


async def run(some: Sequence[Judge]) -> list[str]:
    """A table of every set that is here."""
    lines = ["### Self-contained claims: pairwise accuracy and scores", ""]
    lines += [f"| set | judge | {' | '.join(_COLUMNS)} |", "|---|---|" + "---:|" * len(_COLUMNS)]
    for name in (*SETS, OWN):
        pairs = list(pairs_of(name)) if name == OWN or labelled.has(name) else []
        for judge in some:
            score, chosen = score_by(judge), judge.some(pairs)
            scored = [(await score(pair.before, pair.source), await score(pair.after, pair.source)) for pair in chosen]
            known = [(one, other) for one, other in scored if one is not None and other is not None]
            if known:
                lines.append(f"| {name} | {judge.name} | {' | '.join(_cells(known, len(scored)))} |")
    return [*lines, "", *await _single(some)]


async def _single(some: Sequence[Judge]) -> list[str]:
    """Facts that are self-contained or not, without a partner."""
    lines = ["| claims | judge | number | below 0.4 | from 0.7 |", "|---|---|---:|---:|---:|"]
    groups = [(STANDING, [(claim, "") for claim in standing()])]
    if labelled.has(FACTS):
        open_ones, named = facts()
        groups += [(f"{FACTS}, begin with a pronoun", open_ones), (f"{FACTS}, begin with the name", named)]
    for title, claims in groups:
        for judge in some:
            scores = [await score_by(judge)(claim, source) for claim, source in judge.some(claims)]
            known = [score for score in scores if score is not None]
            if known:
                shares = sum(score < POOR for score in known), sum(score >= GOOD for score in known)
                cells = " | ".join(f"{share / len(known):.2f}" for share in shares)
                lines.append(f"| {title} | {judge.name} | {len(known)} | {cells} |")
    return lines


def score_by(judge: Judge) -> Score:
    """A claim's score through the handler; None if it has no score."""
    rules = shipped_rules(DecontextualizeClaimRules)

    async def score(claim: str, source: str) -> float | None:
        event = ExtractedClaim(claim_id="c", claim_text=claim, source_text=source)
        features = rules.read(event) if judge.name == OFFLINE and claim else None
        if features and not features.is_claim:
            # The handler gives a question no score. Its wording has one, by which it is compared.
            return score_of(features, rules.claims.wording)
        outcome = await decide(judge, decontextualize_claim, read_judgment, event, rules)
        if not isinstance(outcome, Emit):
            return None
        evaluated = outcome.events[0]
        assert isinstance(evaluated, ClaimEvaluated)
        return evaluated.decontextualization_score

    return score


def pairs_of(name: str) -> Iterator[Pair]:
    """The changed sentences of a set, with the answer or the conversation that they stood in."""
    if name == OWN:
        for case in _written("claims.jsonl"):
            yield Pair(case["claim"], case["alone"], f"{case['said']} {case['claim']}")
        return
    for case in labelled.cases(name):
        if case.get("needs_decontext"):
            yield Pair(case["sentence"].strip(), case["decontext"].strip(), case["response"])
        elif case.get("needs_context"):
            yield Pair(case["raw"].strip(), case["rewritten"].strip(), "\n".join(case["history"]))


def standing() -> list[str]:
    """Facts of the kind that an encyclopedia has, some with pronouns that are resolved inside."""
    return [case["claim"] for case in _written("standing.jsonl")]


def facts() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Single facts of biographies that begin with a pronoun, and those that begin with the name; with their text."""
    open_ones, named = [], []
    for case in labelled.cases(FACTS):
        said = [fact for part in case["annotations"] or () for fact in part.get("model_facts") or ()]
        open_ones += [(fact, case["response"]) for fact in said if _PRONOUN.match(fact)]
        named += [(fact, case["response"]) for fact in said if fact.startswith(f"{case['topic']} ")]
    return open_ones[::_STEP], named[::_STEP]


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


def _cells(scores: Sequence[tuple[float, float]], asked: int) -> list[str]:
    cells = [str(asked), f"{len(scores) / asked:.2f}", f"{pairwise(scores):.3f}", f"{auc(scores):.3f}"]
    count = len(scores)
    poor, below = (sum(before < bound for before, _ in scores) / count for bound in (POOR, GOOD))
    good = sum(after >= GOOD for _, after in scores) / count
    return [*cells, *(f"{share:.2f}" for share in (poor, below, good))]


def _written(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (WRITTEN / name).read_text("utf-8").splitlines()]
