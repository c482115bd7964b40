"""Checks of a query's results: each returns the faults that it finds.

They do not use the code that they check: the order of stages, the form of a label and the numbers of trust are stated
here a second time. ``test_ranking_checks`` shows that each finds a seeded fault.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from schemas.ranking import RankedResult, RankingCompleted
from tests.rendered import LABEL_LINE, blocks_of

STAGES = ("retrieval", "bm25", "ranking", "trees", "mmr", "reasoning")
SCORES = ("vector", "bm25", "fused", "ranking", "trees", "trust", "mmr")
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w])")
_WORDS = re.compile(
    r"(?<![a-z])(?:cts|source_tier|base_score|stage_scores|domain_authority|mmr)(?![a-z])", re.IGNORECASE
)


def out_of_order(completed: RankingCompleted) -> list[str]:
    """Stages, notes or scores that don't come in the plan's order, and stages that ran without a note."""
    wrong = []
    stages = [str(stage) for stage in completed.stages]
    if stages != [stage for stage in STAGES if stage in stages]:
        wrong.append(f"stages {stages}")
    noted = [str(note.stage) for note in completed.notes]
    if noted != [stage for stage in STAGES if stage in noted]:
        wrong.append(f"notes {noted}")
    ran = {str(note.stage) for note in completed.notes if note.outcome == "ran"}
    if ran != set(stages):
        wrong.append(f"noted as run {sorted(ran)}, listed {stages}")
    for result in completed.results:
        scores = list(result.stage_scores)
        if scores != [name for name in SCORES if name in scores]:
            wrong.append(f"{result.url}: scores {scores}")
    if [result.rank for result in completed.results] != list(range(1, len(completed.results) + 1)):
        wrong.append(f"ranks {[result.rank for result in completed.results]}")
    return wrong


def labels_of(text: str) -> Counter[str]:
    """The labels in the trusted part of a prompt.

    >>> labels_of("[TRUST_TIER: HIGH] Source: CNA")["HIGH"]
    1
    """
    return Counter(_labels(text))


def mislabelled(context: str, results: Sequence[RankedResult]) -> list[str]:
    """Labels of a context that are not those of the results, one to one, or not in the order of trust."""
    lines = _labels(context)
    wrong = []
    if Counter(lines) != Counter(result.trust_label for result in results):
        wrong.append(f"labels {Counter(lines)} of {Counter(result.trust_label for result in results)}")
    if lines != sorted(lines, key=("HIGH", "MEDIUM", "LOW").index):
        wrong.append(f"order {lines}")
    for result in results:
        if result.reasoning_metadata.trust_label != result.trust_label:
            wrong.append(f"{result.url}: {result.reasoning_metadata.trust_label} beside {result.trust_label}")
    return wrong


def numbers_of_trust(prompt: str, results: Iterable[RankedResult]) -> list[str]:
    """Numbers of trust and of ranking in a prompt, and the names of such numbers (C-39).

    A source's tier is a digit that any text may hold, so it is only looked for by name. Names count in the trusted part
    and as fields of a block; a page may use them in its own text.
    """
    trusted, blocks = blocks_of(prompt)
    ours = "\n".join([trusted, *(field for block in blocks for field in block.texts)])
    found = {match.group() for match in _WORDS.finditer(ours)}
    numbers = set(_NUMBER.findall(prompt))
    for result in results:
        trust = result.trust_features
        known = [result.cts_score, *((trust.cts_score, trust.base_score) if trust else ())]
        known += [result.score, *result.stage_scores.values()]
        said = {str(number) for number in known if number is not None and number not in (0, 1)}
        said |= {f"{number:.{digits}f}" for number in known if isinstance(number, float) for digits in (2, 3, 4)}
        found |= numbers & (said - {"0.00", "0.000", "0.0000", "1.00", "1.000", "1.0000"})
    return sorted(found)


def _labels(text: str) -> list[str]:
    trusted, _ = blocks_of(text)
    return [found[1] for line in trusted.split("\n") if (found := LABEL_LINE.fullmatch(line))]
