"""The screen ``dead_letters``: lists, bytes, and actions that only a dry run allows."""

import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Self

import pytest
from aiokafka import TopicPartition

from schemas.dead import DeadLetter
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord
from streams.dlq.redrive import Purged, Redriven, RedriveOptions
from streams.dlq.selection import Selection
from streams.settings.model import Settings
from tests.streams.console.consoles import AUTHORIZED, OWN, OwnConsole, Stored

ACTING = OWN | AUTHORIZED
HOSTILE = b"<script>alert(1)</script>\xe2\x80\xae"


def letter(offset: int, value: bytes | None, redriven_by: str | None = None, key: str = "https://a.example/") -> Any:
    note = {
        "x-reason": "invalid",
        "x-stage": "decode",
        "x-error-message": "html: <b>wrong</b>",
        "x-orig-topic": "pages.crawled.v1",
        "x-died-at": f"2026-11-23T12:00:{offset:02}+00:00",
    }
    headers: tuple[tuple[str, bytes | None], ...] = tuple((name, text.encode()) for name, text in note.items())
    record = Stored("t", 0, offset, 0, key.encode(), value, (*headers, ("x", b"\xff")))
    return DeadLetterRecord("score_page", record, DeadLetter.of(headers), redriven_by)


class KnownLetters(DeadLetterReader):
    """Dead letters of one partition."""

    letters: tuple[Any, ...] = ()

    def __init__(self, settings: Settings, selection: Selection, plan: str = "") -> None:
        del settings
        self._selection = selection
        self.partitions = [] if plan else [("score_page", TopicPartition("t", 0))]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def start_of_last(self, *_: Any) -> int:
        return 0

    async def read(self, handler: str, partition: TopicPartition, start: int = 0) -> AsyncGenerator[Any, None]:
        del handler, partition
        for its in self.letters:
            if its.record.offset >= start:
                yield its


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was asked of redrive and purge."""
    asked: list[Any] = []

    async def redrive(settings: Settings, selection: Selection, options: RedriveOptions) -> Redriven:
        del settings
        asked.append(("redrive", options.dry_run, selection))
        result = Redriven(sent=3)
        result.targets["score_page", "invalid", "pages.crawled.v1"] = 3
        result.skipped["cut"] = 1
        return result

    async def purge(settings: Settings, selection: Selection, *, only_redriven: bool, dry_run: bool) -> Purged:
        del settings, only_redriven
        asked.append(("purge", dry_run, selection))
        return Purged(2, 1, 4)

    monkeypatch.setattr("streams.console.dead_letters.redrive", redrive)
    monkeypatch.setattr("streams.console.dead_letters.purge", purge)
    return asked


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnConsole]:
    monkeypatch.setattr("streams.console.dead_letters.DeadLetterReader", KnownLetters)
    letters = (letter(1, HOSTILE), letter(2, b"\xff\x00<p>"), letter(3, None), letter(4, b"x", "redrive-1"))
    monkeypatch.setattr(KnownLetters, "letters", letters)
    its = OwnConsole()
    with its.served() as its.client:
        yield its


def ticket_of(text: str) -> str:
    found = re.search(r'name="ticket" value="([^"]+)"', text)
    return found[1] if found else ""


DRY_RUN = "/dead-letters/dry-run?action={}&handler=score_page&reason=invalid"


def test_letters_are_counted_by_handler_and_reason(console: OwnConsole) -> None:
    text = console.client.get("/dead-letters").text
    assert "3 dead letters waiting" in text
    assert 'data-label="waiting">3</td><td class="number" data-label="sent again">1</td>' in text
    assert "/dead-letters?q=handler:score_page+state:invalid" in text


def test_a_letter_in_the_list_leads_to_its_bytes(console: OwnConsole) -> None:
    for _ in range(5):
        console.write_dead("score_page", "https://a.example/", b"x")
    text = console.client.get("/dead-letters?q=state:invalid").text
    assert '<a href="/dead-letters/score_page/0/4" data-open>https://a.example/</a>' in text
    assert text.count('<span class="badge good">sent again</span>') == 1


def test_bytes_are_shown_as_text_or_in_hexadecimal(console: OwnConsole) -> None:
    text = console.client.get("/dead-letters/score_page/0/1").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "RIGHT-TO-LEFT OVERRIDE" in text
    assert "<script>alert" not in text
    assert "html: &lt;b&gt;wrong&lt;/b&gt;" in text
    text = console.client.get("/dead-letters/score_page/0/2").text
    assert "They are not UTF-8 text." in text
    assert "00000000  ff 00 3c 70 3e" in text
    assert "The record has no value." in console.client.get("/dead-letters/score_page/0/3").text


def test_bytes_are_downloaded_and_never_shown(console: OwnConsole) -> None:
    answer = console.client.get("/dead-letters/score_page/0/1/bytes")
    assert answer.content == HOSTILE
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    "path", ["/dead-letters/score_page/0/9", "/dead-letters/nosuch/0/1", "/dead-letters/score_page/7/1"]
)
def test_a_letter_that_is_gone_is_not_found(console: OwnConsole, path: str) -> None:
    assert console.client.get(path).status_code == 404
    assert console.client.get(path + "/bytes").status_code == 404


@pytest.mark.parametrize(("action", "says"), [("redrive", "3 sent again"), ("purge", "2 deleted")])
def test_an_action_follows_its_dry_run_once(console: OwnConsole, done: list[Any], action: str, says: str) -> None:
    text = console.client.get(DRY_RUN.format(action), headers=AUTHORIZED).text
    [(_, _, selection)] = done
    assert done == [(action, True, selection)]
    assert selection.until is not None  # letters that die after the dry run stay
    assert replace(selection, until=None) == Selection(("score_page",), ("invalid",))
    ticket = ticket_of(text)
    for form in ({}, {"ticket": ""}, {"ticket": "guessed"}):
        assert console.client.post("/dead-letters/do", data=form, headers=ACTING).status_code == 409
    answer = console.client.post("/dead-letters/do", data={"ticket": ticket}, headers=ACTING)
    assert (answer.status_code, says in answer.text) == (200, True)
    assert done[1:] == [(action, False, selection)]
    again = console.client.post("/dead-letters/do", data={"ticket": ticket}, headers=ACTING)
    assert (again.status_code, "Nothing was done now" in again.text) == (409, True)
    assert len(done) == 2


def test_an_old_dry_run_allows_nothing(console: OwnConsole, done: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ticket = ticket_of(console.client.get(DRY_RUN.format("purge"), headers=AUTHORIZED).text)
    monkeypatch.setattr("streams.console.dead_letters._TICKET_AGE", timedelta(0))
    assert console.client.post("/dead-letters/do", data={"ticket": ticket}, headers=ACTING).status_code == 409
    assert len(done) == 1


def test_not_all_letters_are_deleted_at_once(console: OwnConsole, done: list[Any]) -> None:
    text = console.client.get("/dead-letters/dry-run?action=purge", headers=AUTHORIZED).text
    assert "Name the dead letters to delete" in text
    assert (ticket_of(text), done) == ("", [])


def test_letters_of_a_replay_are_only_shown(console: OwnConsole, done: list[Any]) -> None:
    text = console.client.get("/dead-letters/dry-run?action=redrive&plan=again", headers=AUTHORIZED).text
    assert "Dead letters of a replay are not sent again" in text
    assert (ticket_of(text), done) == ("", [])
    assert "Redrive…" not in console.client.get("/dead-letters?plan=again").text


def test_a_reader_gets_no_ticket(console: OwnConsole, done: list[Any]) -> None:
    text = console.client.get(DRY_RUN.format("redrive")).text
    assert ticket_of(text) == ""
    assert "Sign in to do it" in text
    assert console.client.post("/dead-letters/do", data={}, headers=OWN).status_code == 401
    assert [(action, dry_run) for action, dry_run, _ in done] == [("redrive", True)]
