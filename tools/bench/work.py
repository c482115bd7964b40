"""The pages, the small events, and the functions that all contestants run on them."""

from collections.abc import Callable, Iterable

from handlers.score_page import ScorePageRules, score_page
from schemas.event import Event
from schemas.outcome import Emit, Outcome
from schemas.pages import CrawledPage
from schemas.rules import Rules
from tests.rules import shipped_rules
from tools import labelled

NOTES = "bench.notes.v1"
SEEN = "bench.seen.v1"


SET = "wcxb_page_types"
Page = tuple[str, bytes]
Record = tuple[bytes, bytes, list[tuple[str, bytes]]]


class Note(Event):
    """About 1 KB of text."""

    note_id: str
    text: str


class Seen(Event):
    """A note passed."""

    note_id: str
    length: int


class NoRules(Rules):
    """The rules of a handler without configuration."""


def see(note: Note, rules: Rules) -> Emit:
    return Emit((Seen(note_id=note.note_id, length=len(note.text)),))


def note(number: int) -> tuple[bytes, bytes]:
    """The n-th note as a record's key and value, 1 KB."""
    words = (f"w{(number * 7919 + place * 104_729) % 9973}" for place in range(170))
    event = Note(note_id=f"note-{number}", text=" ".join(words)[:980])
    return event.note_id.encode(), event.to_json()


def load_pages() -> list[Page]:
    return [(labelled.address(case), labelled.body(SET, case)) for case in labelled.cases(SET)]


def page_records(pages: list[Page], times: int) -> Iterable[Record]:
    """The pages as raw records, several times, with a unique address each."""
    for turn in range(times):
        for url, body in pages:
            address = f"{url}#{turn}".encode()
            yield address, body, [("assay_url", address), ("content-type", b"text/html")]


def scorer() -> Callable[[str, bytes], Outcome]:
    """``score_page`` with the shipped rules, which it has compiled: that is not measured."""
    rules = shipped_rules(ScorePageRules)

    def score(url: str, body: bytes) -> Outcome:
        return score_page(CrawledPage(url=url, html_base64=body, content_type="text/html"), rules)

    score("https://a.example/", b"<p>A page.")
    return score


def encoded(outcome: Outcome) -> bytes:
    """The event of an outcome; nothing for a refused page."""
    return outcome.events[0].to_json() if isinstance(outcome, Emit) else b""
