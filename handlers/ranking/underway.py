"""Queries that wait for a judge, with what was reckoned before he was asked.

In: a request, what the index found for it, and what came of both. Out: the same again when the judge has answered.
Everything kept follows from what it is kept under, so forgetting it costs time and changes nothing; without it each
query would be reckoned twice, and reading its candidates is most of the work.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemas.queries import RankingRequested
from schemas.ranking import StageNote
from schemas.replies import VectorsReply

if TYPE_CHECKING:
    from handlers.ranking.stages import Weighed

MOST = 32
"""Queries that are remembered; as many as may be in work at once in a process, from Kafka and beside it."""


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """A query up to where a judge is asked.

    Attributes:
        request: The query.
        found: What the index found; None where its candidates came along.
        retrieved: What the retrieval did.
        weighed: The candidates, as words and vectors have them.
    """

    request: RankingRequested
    found: VectorsReply | None
    retrieved: StageNote
    weighed: Weighed


class Underway:
    """Queries under way. They are told apart as objects: comparing them by content would cost what is saved."""

    def __init__(self) -> None:
        """Nothing is remembered."""
        self._kept: deque[Begun] = deque(maxlen=MOST)

    def keep(self, begun: Begun) -> None:
        """Remembers a query, and forgets the oldest where there are too many."""
        self._kept.append(begun)

    def take(self, request: RankingRequested, found: VectorsReply | None) -> Begun | None:
        """The query as it was kept, which is forgotten by that; None where it is not remembered."""
        for begun in self._kept:
            if begun.request is request and begun.found is found:
                self._kept.remove(begun)
                return begun
        return None
