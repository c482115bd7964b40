"""Queries that wait for a judge are found again as the very objects they were, and only so many of them."""

from __future__ import annotations

from typing import Any

from handlers.ranking.underway import MOST, Begun, Underway
from schemas.queries import RankingRequested
from schemas.ranking import StageName, StageNote, StageOutcome
from schemas.replies import VectorsReply

NOTE = StageNote(stage=StageName.RETRIEVAL, outcome=StageOutcome.RAN)
WEIGHED: Any = None


def request() -> RankingRequested:
    return RankingRequested(request_id="query-1", query="tide tables")


def test_a_query_is_found_once_and_only_as_the_same_object() -> None:
    underway, asked, found = Underway(), request(), VectorsReply(())
    begun = Begun(asked, found, NOTE, WEIGHED)
    underway.keep(begun)
    assert request() == asked
    assert underway.take(request(), found) is None
    assert underway.take(asked, VectorsReply(())) is None
    assert underway.take(asked, None) is None
    assert underway.take(asked, found) is begun
    assert underway.take(asked, found) is None


def test_the_oldest_is_forgotten_first() -> None:
    underway = Underway()
    asked = [request() for _ in range(MOST + 1)]
    for one in asked:
        underway.keep(Begun(one, None, NOTE, WEIGHED))
    assert underway.take(asked[0], None) is None
    assert all(underway.take(one, None) is not None for one in asked[1:])
