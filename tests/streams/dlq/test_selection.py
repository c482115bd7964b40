"""The selection of dead letters for a command."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aiokafka import ConsumerRecord

from schemas.dead import DeadLetter
from streams.dlq.dead_letters import DeadLetterRecord
from streams.dlq.selection import Selection, SelectionError, selection_of
from tests.tables import tables

TABLES = tables(__file__)

NOW = datetime(2026, 1, 10, 12, tzinfo=UTC)


def letter(key: bytes | None = None, **changes: Any) -> DeadLetterRecord:
    fields: dict[str, Any] = dict(TABLES["letter"])
    record: Any = ConsumerRecord("dead", 0, 5, 0, 0, key, b"v", None, 0, 0, ())
    return DeadLetterRecord("score_page", record, DeadLetter(**fields | changes), None)


def typed(**changes: Any) -> Selection:
    fields: dict[str, Any] = {"handlers": [], "reasons": [], "stage": None, "key": None, "since": "", "until": ""}
    return selection_of(**fields | changes, now=NOW)


def test_empty_selection_matches_every_letter() -> None:
    assert typed().open
    assert typed().means(letter(died_at="", reason=""))


@pytest.mark.parametrize(("words", "meant"), TABLES["each_word_narrows_the_choice"])
def test_each_word_narrows_the_choice(words: dict[str, Any], meant: bool) -> None:
    selection = typed(**words)
    assert not selection.open
    assert selection.means(letter("ключ".encode())) is meant


def test_letter_without_a_time_is_outside_any_time_range() -> None:
    assert not typed(since="7d").means(letter(died_at="?"))


@pytest.mark.parametrize(("words", "complaint"), TABLES["unknown_selection_value_is_refused_with_the_known_ones"])
def test_unknown_selection_value_is_refused_with_the_known_ones(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(SelectionError, match=complaint.replace("?", r"\?")):
        typed(**words)
