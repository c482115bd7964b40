"""The screen ``review``: marks of editors, and agreement."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError

from schemas.review import DecisionReviewed, ReviewedDecision
from streams.console.entries import Position
from streams.console.reviews import Agreement, Marks, agreement, newest_marks
from streams.kafka.settings import KafkaSettings
from tests.samples import scored
from tests.streams.console.consoles import AUTHORIZED, OWN, OwnConsole
from tests.tables import tables

TABLES = tables(__file__)

ACTING = OWN | AUTHORIZED


class KnownMarks(Marks):
    """Marks in memory; None for a cluster that does not answer."""

    written: list[DecisionReviewed] | None = None

    async def refresh(self) -> dict[str, DecisionReviewed]:
        if KnownMarks.written is None:
            raise KafkaConnectionError("no cluster")
        for review in KnownMarks.written:
            self.note(review)
        return self.rows

    async def write(self, review: DecisionReviewed, now: datetime) -> None:
        if KnownMarks.written is None:
            raise KafkaConnectionError("no cluster")
        assert now == review.reviewed_at
        KnownMarks.written.append(review)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnConsole]:
    monkeypatch.setattr("streams.console.review.Marks", KnownMarks)
    monkeypatch.setattr(KnownMarks, "written", [])
    its = OwnConsole()
    with its.served() as its.client:
        yield its


def page(console: OwnConsole, number: int, **fields: Any) -> Position:
    return console.write(scored(f"https://a.example/{number}", "The text.", **fields), "score_page", after=number)


def marked(console: OwnConsole, position: Position, right: str, query: str = "", **more: str) -> Any:
    return console.client.post(f"/review/{position}?{query}", data={"right": right} | more, headers=ACTING)


def test_the_newest_decision_without_a_mark_comes_first(console: OwnConsole) -> None:
    positions = [page(console, number) for number in (1, 2, 3)]
    text = console.client.get("/review", headers=AUTHORIZED).text
    assert "3 of the newest decisions without a mark" in text
    assert f'action="/review/{positions[2]}?' in text
    assert 'data-key="y"' in text
    assert 'data-key="n"' in text
    answer = marked(console, positions[2], "yes")
    assert (answer.status_code, answer.headers["location"]) == (303, "/review?")
    text = console.client.get("/review", headers=AUTHORIZED).text
    assert "2 of the newest decisions without a mark" in text
    assert f'action="/review/{positions[1]}?' in text


def test_a_mark_names_the_decision_and_what_was_expected(console: OwnConsole) -> None:
    position = page(console, 1)
    query = "reviewer=Ida&handler=score_page"
    facts = {"date": "2026-11-02", "state": "login", "author": " "}
    answer = marked(console, position, "no", query, expected="A", note=" a ministry ", **facts)
    assert answer.headers["location"] == "/review?handler=score_page&reviewer=Ida"
    assert KnownMarks.written is not None
    [review] = KnownMarks.written
    assert review.decision == ReviewedDecision(**TABLES["a_mark_names_the_decision_and_what_was_expected"])
    assert (review.right, review.expected, review.note, review.reviewer) == (False, "A", "a ministry", "Ida")
    assert review.expected_facts == {"date": "2026-11-02", "state": "login"}
    assert review.reviewed_at is not None


def test_another_mark_replaces_the_first_and_is_taken_back(console: OwnConsole) -> None:
    position = page(console, 1)
    marked(console, position, "yes")
    marked(console, position, "no", date="2026-11-02")
    text = console.client.get(f"/review/{position}", headers=AUTHORIZED).text
    assert "Marked wrong, date 2026-11-02" in text
    assert '<td class="number">0</td><td class="number">1</td>' in text
    marked(console, position, "undo")
    text = console.client.get("/review", headers=AUTHORIZED).text
    assert "1 of the newest decisions without a mark" in text
    assert "No decision has a mark yet" in text


def test_marks_of_copies_are_shown(console: OwnConsole) -> None:
    first, again, other = page(console, 1), page(console, 1, tier="B"), page(console, 2)
    marked(console, first, "no", expected="A")
    assert "Another decision about this was marked" in console.client.get(f"/review/{again}").text
    assert "Another decision about this was marked" not in console.client.get(f"/review/{other}").text


def test_skipped_decisions_come_back_on_request(console: OwnConsole) -> None:
    page(console, 1)
    assert "Back to those that were skipped" in console.client.get("/review?skipped=1").text


def test_decisions_of_replays_and_strangers_are_not_in_the_queue(console: OwnConsole) -> None:
    console.write(scored("https://a.example/1"), "score_page", run="replay-again-1")
    console.write(scored("https://a.example/2"), "x" * 150)
    assert "0 of the newest decisions without a mark" in console.client.get("/review").text


def test_what_is_no_mark_or_no_decision_is_refused(console: OwnConsole) -> None:
    position = page(console, 1)
    assert marked(console, position, "perhaps").status_code == 400
    assert marked(console, Position("replays.v1", 0, 0), "yes").status_code == 400
    assert console.client.get("/review/replays.v1/0/0").status_code == 404
    console.forget([position])
    assert marked(console, position, "yes").status_code == 404
    assert "Kafka has deleted this record" in console.client.get("/review").text


def test_a_cluster_that_does_not_answer_is_named(console: OwnConsole, monkeypatch: pytest.MonkeyPatch) -> None:
    position = page(console, 1)
    monkeypatch.setattr(KnownMarks, "written", None)
    assert "Kafka can&#39;t be read: " in console.client.get("/review").text
    answer = marked(console, position, "yes")
    assert (answer.status_code, "The mark was not written" in answer.text) == (503, True)


def test_texts_of_pages_are_text(console: OwnConsole) -> None:
    console.write(scored("https://a.example/<script>", "<script>alert(1)</script>‮", title="<b>"), "score_page")
    text = console.client.get("/review").text
    assert "<script>" not in text
    assert "&lt;b&gt;" in text
    assert "RIGHT-TO-LEFT OVERRIDE" in text


def test_old_marks_leave_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.console.reviews.MOST_MARKS", 2)
    marks = Marks(KafkaSettings())
    for offset in range(3):
        decision = ReviewedDecision(topic="t", partition=0, offset=offset, handler="h", subject="s")
        marks.note(DecisionReviewed(decision=decision, right=True))
    assert list(marks.rows) == ["t/0/1", "t/0/2"]


# --- agreement -------------------------------------------------------------------------------------------------------

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def mark(offset: int, right: bool = True, handler: str = "score_page", version: str | None = "v1", **more: Any) -> Any:
    decision = ReviewedDecision(
        topic="pages.scored.v1",
        partition=0,
        offset=offset,
        handler=handler,
        config_version=version,
        subject="https://a.example/",
    )
    return DecisionReviewed(decision=decision, right=right, **more)


def test_agreement_is_counted_by_handler_and_version() -> None:
    marks = [mark(1), mark(2), mark(3, False), mark(4, version="v0"), mark(5, False, "classify_results", None)]
    assert agreement(marks) == (
        Agreement("classify_results", "", 0, 1),
        Agreement("score_page", "v0", 1, 0),
        Agreement("score_page", "v1", 2, 1),
    )
    assert agreement([]) == ()


@pytest.mark.parametrize(
    ("right", "wrong", "low", "high"),
    # The values of Wilson's interval without continuity correction, as in Newcombe (1998), table I.
    [(81, 182, 0.2553, 0.3662), (15, 133, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 28, 0.0061, 0.1718)],
)
def test_the_interval_is_wilsons(right: int, wrong: int, low: float, high: float) -> None:
    found = Agreement("h", "v", right, wrong).interval
    assert found == pytest.approx((low, high), abs=5e-5)


def test_the_newest_mark_of_a_decision_counts() -> None:
    later = NOON + timedelta(minutes=1)
    reviews = [
        mark(1, True, reviewed_at=NOON),
        mark(1, False, reviewed_at=later),
        mark(2, False, reviewed_at=later),
        mark(2, True, reviewed_at=NOON),
        mark(3, True),
        mark(3, False),
    ]
    assert [its.right for its in newest_marks(reviews).values()] == [False, False, False]


def test_a_decision_is_known_by_its_id_before_its_position() -> None:
    first, second = mark(1).decision, mark(9).decision
    again = [
        DecisionReviewed(decision=its.model_copy(update={"event_id": "e"}), right=right)
        for its, right in ((first, True), (second, False))
    ]
    assert [its.right for its in newest_marks(again).values()] == [False]
    assert len(newest_marks([mark(1), mark(9)])) == 2
