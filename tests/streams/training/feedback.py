"""Generated answers and feedback with a known signal: one feature shows how good a result is, the others are noise."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from handlers.ranking.model import VERSION_PHASE_A, VERSION_PHASE_C, Feature
from schemas.queries import RankingRequested
from schemas.ranking import RankingCompleted, RankingFeedback
from streams.training.join import Joined, ServedLog
from tests.streams.query import toys
from tests.streams.query.toys import ranked

SIGNAL = Feature.KEYWORD_OVERLAP
VERSIONS = {29: VERSION_PHASE_A, 41: VERSION_PHASE_C}


def completed(
    request_id: str,
    rows: list[list[float | None]] | list[None],
    query: str | None = None,
    version: str | None = VERSION_PHASE_C,
    **others: Any,
) -> RankingCompleted:
    """An answer that shows a result for each row; the n-th has the address ``https://a.example/n``, from 0."""
    request = RankingRequested(request_id=request_id, query=query or f"query of {request_id}")
    results = [ranked(place + 1, url=address(place), trust_label="LOW", features=row) for place, row in enumerate(rows)]
    fields = {"features_version": version, "config_version": "0" * 12, **others}
    return toys.completed(request, *results, **fields)


def address(place: int) -> str:
    return f"https://a.example/{place}"


def row(signal: float = 0.0, columns: int = 41) -> list[float | None]:
    """Features that are all alike but for the signal."""
    values: list[float | None] = [0.0] * columns
    values[SIGNAL] = signal
    return values


def world(
    requests: int, results: int = 10, seed: int = 1, columns: int = 41, shuffled: bool = False, signal: int = SIGNAL
) -> Iterator[tuple[RankingCompleted, list[RankingFeedback]]]:
    """Requests, all of whose results are graded by the signal; the order in which they were served is by chance.

    Args:
        shuffled: The seeded fault: the same grades, assigned to results at random.
        signal: The column that says how good a result is.
    """
    chance = np.random.default_rng(seed)
    for number in range(requests):
        table = chance.random((results, columns)).round(4)
        grades = np.minimum(4, table[:, signal] * 5).astype(int)
        if shuffled:
            chance.shuffle(grades)
        at = f"2026-11-{1 + number % 28:02}T08:00:00Z"
        answer = completed(f"r{number}", table.tolist(), f"query number {number}", VERSIONS[columns], requested_at=at)
        yield (
            answer,
            [
                RankingFeedback(request_id=answer.request_id, url=address(place), grade=int(grade))
                for place, grade in enumerate(grades)
            ],
        )


def joined(pairs: Iterator[tuple[RankingCompleted, list[RankingFeedback]]]) -> Joined:
    """What training sees of a world."""
    served = ServedLog()
    answers = []
    for answer, given in pairs:
        answers.append(answer)
        for number, one in enumerate(given):
            served.add_feedback(one, f"{answer.request_id}/{number}")
    for answer in answers:
        served.add_answer(answer, answer.request_id)
    return served.joined()
