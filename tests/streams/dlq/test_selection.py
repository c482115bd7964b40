"""The selection of dead letters for a command."""

from datetime import UTC, datetime
from typing import Any

import pytest

from schemas.dead import DeadLetter
from streams.dlq.dead_letters import Selection, SelectionError, selection_of

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


def letter(**changes: Any) -> DeadLetter:
    fields: dict[str, Any] = {
        "handler": "score_page",
        "reason": "invalid",
        "stage": "decode",
        "error": "url: missing",
        "topic": "pages.crawled.v1",
        "partition": 1,
        "offset": 2,
        "root_id": "x",
        "died_at": "2026-01-10T10:00:00+00:00",
    }
    return DeadLetter(**fields | changes)


def typed(**changes: Any) -> Selection:
    fields: dict[str, Any] = {"handlers": [], "reasons": [], "stage": None, "key": None, "since": "", "until": ""}
    return selection_of(**fields | changes, now=NOW)


def test_empty_selection_matches_every_letter() -> None:
    assert typed().open
    assert typed().means("score_page", None, letter(died_at="", reason=""))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ({"handlers": ["score_page", "fetch_page"]}, True),
        ({"handlers": ["fetch_page"]}, False),
        ({"reasons": ["invalid", "handler_bug"]}, True),
        ({"reasons": ["handler_bug"]}, False),
        ({"stage": "decode"}, True),
        ({"stage": "handle"}, False),
        ({"key": "ключ"}, True),
        ({"key": "other"}, False),
        ({"since": "3h"}, True),
        ({"since": "90m"}, False),
        ({"until": "90m"}, True),
        ({"until": "2026-01-10T10:00"}, False),
        ({"since": "2026-01-10T10:00", "until": "2026-01-10T11:00+00:00"}, True),
        ({"since": "2026-01-10"}, True),
    ],
)
def test_each_word_narrows_the_choice(words: dict[str, Any], meant: bool) -> None:
    selection = typed(**words)
    assert not selection.open
    assert selection.means("score_page", "ключ".encode(), letter()) is meant


def test_letter_without_a_time_is_outside_any_time_range() -> None:
    assert not typed(since="7d").means("score_page", None, letter(died_at="?"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"handlers": ["unknown"]}, "there is no handler 'unknown'; there are score_page, "),
        ({"reasons": ["bad"]}, "there is no reason 'bad'; there are undecodable, "),
        ({"stage": "x"}, "there is no stage 'x'; there are decode, "),
        ({"since": "yesterday"}, "--since takes a time"),
        ({"until": "9999999h"}, "--until takes a time"),
    ],
)
def test_unknown_selection_value_is_refused_with_the_known_ones(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SelectionError, match=complaint.replace("?", r"\?")):
        typed(**words)
