"""Is a search done? Recommendations on the plan's three worked examples and on batches written for Assay.

Nothing public is labelled for this task, so what is measured is small and of our own making: whether a judge says stop
where the goal can be met from the results and continue where it can't.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from handlers.evaluate_search import EvaluateSearchRules, evaluate_search, read_search
from schemas.outcome import Emit
from schemas.retrieval import RetrievalBatch, RetrievedContent
from schemas.search import SearchEvaluated
from tests.rules import shipped_rules
from tools.accuracy.claims import WRITTEN
from tools.accuracy.judges import Judge, decide

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples" / "retrieval.batches.v1"
WORKED = {"laptop_offers": True, "hamster_breeders": False, "gaming_headset": False}
"""Whether the plan's answer is to stop."""


async def run(some: Sequence[Judge]) -> list[str]:
    """The table."""
    lines = ["### Searches: recommendations", "", "| batches | judge | number | right |", "|---|---|---:|---:|"]
    for title, cases in (("the plan's worked examples", worked()), ("written for Assay", list(written()))):
        for judge in some:
            said = [(stop, await stops(judge, batch)) for batch, stop in judge.some(cases)]
            known = [(stop, answer) for stop, answer in said if answer is not None]
            right = sum(stop == answer for stop, answer in known)
            lines.append(f"| {title} | {judge.name} | {len(known)} | {right} |")
    return lines


def worked() -> list[tuple[RetrievalBatch, bool]]:
    """The plan's examples."""
    return [
        (RetrievalBatch.model_validate_json((EXAMPLES / f"{stem}.json").read_bytes()), stop)
        for stem, stop in WORKED.items()
    ]


def written() -> Iterator[tuple[RetrievalBatch, bool]]:
    """Our own: the goal, the fields, and results as address, title and text."""
    for number, line in enumerate((WRITTEN / "searches.jsonl").read_text("utf-8").splitlines()):
        case = json.loads(line)
        parts = [result.split("|") for result in case["results"]]
        found = tuple(RetrievedContent(url=url, title=title, content=text) for url, title, text in parts)
        goal = case["goal"]
        batch = RetrievalBatch(
            batch_id=f"b{number}", query=goal, goal=goal, required_fields=case["fields"], retrieved_content=found
        )
        yield batch, case["stop"]


async def stops(judge: Judge, batch: RetrievalBatch) -> bool | None:
    """Whether the search is done, by the handler with this judge; None where the judge was not to be had."""
    outcome = await decide(judge, evaluate_search, read_search, batch, shipped_rules(EvaluateSearchRules))
    if not isinstance(outcome, Emit):
        return None
    (evaluated,) = outcome.events
    assert isinstance(evaluated, SearchEvaluated)
    return evaluated.satisfied
