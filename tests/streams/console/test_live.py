"""The screen ``live``, a decision by its position, and the search."""

import asyncio
import json
from pathlib import Path

import pytest

from schemas.claims import ClaimEvaluated
from schemas.pages import ScoredPage
from streams.console.app import make_app
from streams.console.entries import Entry, Position
from streams.console.follow import Feed, Follower
from streams.console.live import _Live
from streams.console.store import Store
from streams.http.server import HttpServer
from streams.kafka.settings import KafkaSettings
from tests.samples import EXAMPLES
from tests.streams.console.consoles import OwnConsole, Stored
from tests.streams.http.test_server import HEAD, get, sent

PAGE = ScoredPage.model_validate_json((EXAMPLES / "pages.scored.v1" / "government_notice.json").read_bytes())
CLAIM = ClaimEvaluated.model_validate_json((EXAMPLES / "claims.evaluated.v1" / "stands_alone.json").read_bytes())


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(PAGE, "score_page")
    console.write(CLAIM, "decontextualize_claim", after=5)
    return console


def test_the_topology_names_every_handler(console: OwnConsole) -> None:
    text = console.client.get("/live/flow").text
    assert text.count('class="node handler') == 11
    assert "<svg" in text


def test_dots_have_score_and_tone(console: OwnConsole) -> None:
    dots = console.client.get("/live/dots?span=all").json()
    assert sorted(dots["topics"]) == ["claims.evaluated.v1", "pages.scored.v1"]
    assert dots["score"][dots["topic"].index(dots["topics"].index("pages.scored.v1"))] == PAGE.cts_score
    only = console.client.get("/live/dots?span=all&topic=pages.scored.v1").json()
    assert only["topics"] == ["pages.scored.v1"]


async def test_event_streams_leave_room_for_other_clients(console: OwnConsole) -> None:
    http = console.settings.http.model_copy(update={"port": 0, "connections": 6})
    console.context.settings = console.settings.model_copy(update={"http": http})
    async with HttpServer(make_app(console.context), http) as server:
        for _ in range(2):
            asked = [await sent(server.address, HEAD.replace(b"/healthz", b"/live/events") + b"\r\n") for _ in range(6)]
            heads = [await reader.readuntil(b"\r\n\r\n") for reader, _ in asked]
            assert sorted(head[9:12] for head in heads) == [b"200"] * 3 + [b"503"] * 3
            assert all(b"retry-after: 5" in head for head in heads if b" 503 " in head)
            assert (await get(server.address, "/live/dots"))[0] == 200
            for _, writer in asked:
                writer.close()
            async with asyncio.timeout(30):
                while console.context.feed._screens:  # noqa: ASYNC110 - it has no event
                    await asyncio.sleep(0.05)


def test_a_decision_shows_its_reasons_and_its_event(console: OwnConsole) -> None:
    text = console.client.get("/decision/pages.scored.v1/0/0").text
    assert PAGE.cts_breakdown[0].reason in text
    assert PAGE.title in text
    assert "In its context" in text


def test_a_decision_under_other_rules_says_so(console: OwnConsole) -> None:
    console.write(PAGE.model_copy(update={"config_version": "earlier"}), "score_page")
    assert "under other rules" not in console.client.get("/decision/pages.scored.v1/0/0").text
    assert "under other rules" in console.client.get("/decision/pages.scored.v1/0/1").text


def test_an_expired_record_keeps_its_verdict(console: OwnConsole) -> None:
    console.forget([Position("pages.scored.v1", 0, 0)])
    answer = console.client.get("/decision/pages.scored.v1/0/0")
    assert answer.status_code == 200
    assert "Kafka has deleted this record" in answer.text
    assert f"score {PAGE.cts_score}" in answer.text


def test_a_decision_that_never_was_is_missing(console: OwnConsole) -> None:
    assert console.client.get("/decision/pages.scored.v1/0/99").status_code == 404
    assert console.client.get("/decision/nosuch.v1/0/0/line").status_code == 404
    path = f"/decision/pages.scored.v1/0/{10**20}"
    assert console.client.get(path).status_code == console.client.get(path + "/line").status_code == 404


def test_the_search_leads_to_the_screen_of_a_subject(console: OwnConsole) -> None:
    assert console.client.get("/find", params={"q": CLAIM.claim_id}).headers["location"] == f"/claim/{CLAIM.claim_id}"
    assert console.client.get("/find", params={"q": PAGE.url}).headers["location"].startswith("/page?url=https%3A")
    missing = console.client.get("/find", params={"q": "<b>nosuch"})
    assert missing.status_code == 404
    assert "<b>nosuch" not in missing.text


def test_hostile_values_are_shown_as_text(console: OwnConsole) -> None:
    title = "</script><img src=x onerror=alert(1)>\u202egnp.exe"
    position = console.write(PAGE.model_copy(update={"url": "javascript:alert(1)", "title": title}), "score_page")
    text = console.client.get(f"/decision/pages.scored.v1/0/{position.offset}").text
    assert "<img src=x" not in text
    assert 'href="javascript:' not in text
    assert "\u202e" not in text
    assert "U+202E" in text


async def test_the_feed_gives_new_decisions_and_ends_for_a_slow_screen() -> None:
    feed, entry = Feed(), Entry(Position("t", 0, 1), 1, "h", "page", "s", "v", "a")
    screen = feed.subscribe(5)
    assert await anext(screen) == []
    feed.publish([entry])
    assert await anext(screen) == [entry]
    for _ in range(1000):
        feed.publish([entry])
    assert len([entries async for entries in screen]) < 1000


async def test_a_closed_feed_ends_its_screens() -> None:
    feed = Feed()
    screen = feed.subscribe(5)
    assert await anext(screen) == []
    feed.close()
    assert await anext(screen, None) is None


async def test_a_stream_begins_with_what_the_page_missed(console: OwnConsole) -> None:
    live = _Live(console.context)
    late = console.write(PAGE, "score_page")
    stream = live._stream("")
    first = [await anext(stream) for _ in range(2)][1]
    assert f"/decision/pages.scored.v1/0/{late.offset}" in [row["path"] for row in json.loads(first.split("data: ")[1])]
    console.context.feed.publish([Entry(Position("t", 0, 1), 1, "h", "page", "s", "v", "a")])
    assert '"/decision/t/0/1"' in await anext(stream)


async def test_a_file_that_is_gone_is_a_problem_and_no_end() -> None:
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", security_protocol="SSL", ssl_cafile=Path("/etc/no-ca.pem"))
    follower = Follower(kafka, Store(10), Feed())
    following = asyncio.create_task(follower.run())
    await asyncio.sleep(0)
    assert not following.done()
    assert "/etc/no-ca.pem can't be used" in follower.problem
    following.cancel()


def test_a_record_of_another_application_is_not_shown(console: OwnConsole) -> None:
    console.records.written[Position("payments", 0, 0)] = Stored("payments", 0, 0, 0, b"k", b"a secret", ())
    answer = console.client.get("/decision/payments/0/0")
    assert (answer.status_code, "a secret" in answer.text) == (404, False)
