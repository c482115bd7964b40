"""What a declaration in the topology must not contradict."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.needs import AskModel, FetchPages, IndexDocument, SearchVectors
from schemas.outcome import Drop, DropReason
from streams.topology import Handler, only_searches
from tests.streams.doubles import handler_of

DECLARED: dict[str, Any] = {
    name: getattr(handler_of(lambda *_: Drop(DropReason.NOTHING_TO_DO)), name)
    for name in ("name", "fn", "consumes", "emits", "rules", "lane", "slo_seconds")
}
READ: Callable[..., Any] = lambda *_: Drop(DropReason.NOTHING_TO_DO)  # noqa: E731 - a value in a table
MODELS, PAGES, SEARCH = frozenset({AskModel}), frozenset({FetchPages}), frozenset({SearchVectors})


@pytest.mark.parametrize(
    ("contradiction", "words"),
    [
        ({"retry_later": (60,)}, "ordered by key"),
        ({"asks": PAGES}, "asks, read and rounds"),
        ({"read": READ, "rounds": 1}, "asks, read and rounds"),
        ({"asks": PAGES, "read": READ}, "asks, read and rounds"),
        ({"asks": PAGES, "read": READ, "rounds": 1, "needs_index": True}, "needs the index"),
        ({"asks": MODELS, "read": READ, "rounds": 1}, "not free of charge"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused(contradiction: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Handler(**DECLARED | contradiction)


def test_the_declared_requests_say_what_a_handler_uses() -> None:
    judge = Handler(**DECLARED, asks=MODELS | SEARCH, read=READ, rounds=2, replay="paid")
    assert (judge.asks_models, judge.writes_index, judge.needs_index) == (True, False, False)
    writer = Handler(**DECLARED, asks=frozenset({IndexDocument}), read=READ, rounds=1, needs_index=True)
    assert (writer.asks_models, writer.writes_index) == (False, True)
    ranker = Handler(**DECLARED, asks=SEARCH, read=READ, rounds=1, needs_index=True)
    assert [only_searches(some) for some in ([ranker], [ranker, writer], [judge], [])] == [True, False, False, False]
