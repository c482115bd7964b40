"""The screen ``live``, a decision by its position, and the search."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.claims import ClaimEvaluated
from schemas.pages import ScoredPage
from streams.console.app import make_app
from streams.console.entries import Entry, Position
from streams.console.follow import Feed, Follower
from streams.console.live import _Live, signs
from streams.console.store import Store
from streams.http.server import HttpServer
from streams.kafka.settings import KafkaSettings
from streams.views.flow import HandlerFlow
from tests.streams.console.consoles import OwnConsole, Stored, example
from tests.streams.http.test_server import HEAD, get, sent

PAGE = example(ScoredPage, "government_notice")
CLAIM = example(ClaimEvaluated, "stands_alone")


@pytest.fixture
def console() -> OwnConsole:
    console = OwnConsole()
    console.write(PAGE, "score_page")
    console.write(CLAIM, "decontextualize_claim", after=5)
    return console


def test_the_screen_has_every_handler_and_what_to_look_at(console: OwnConsole) -> None:
    text = console.client.get("/live/flow").text
    assert text.count('<th scope="row">') == 11
    assert "pages.crawled → pages.scored" in text
    assert "All is well" in console.client.get("/live/health").text
    console.context.flow.problem = "no broker"
    assert "The figures can't be read: no broker" in console.client.get("/").text


def flow(handler: str, **figures: Any) -> HandlerFlow:
    known: dict[str, Any] = {"rate_per_second": 1.0, "lag_records": 0, "lag_seconds": 0.0, "members": 1, "dead": 0}
    return HandlerFlow(handler=handler, slo_seconds=30, **(known | figures))


def test_signs_compare_the_last_minutes_with_the_hour_before() -> None:
    store, now = Store(1000), 10_000_000
    for number in range(200):
        at = now - 60_000 * (1 + number % 4 if number < 20 else 8 + number % 50)
        state = "login" if number < 10 else "content"
        entry = Entry(Position("pages.scored.v1", 0, number), at, "h", "page", f"u{number}", "v", "good", state=state)
        store.add([(entry, [])])
    store.add([(Entry(Position("x.dlq", 0, 0), now - 1000, "h", "page", "u", "v", "dead"), [])])
    late = {"score_page": flow("score_page", lag_records=5, lag_seconds=99.0, members=0), "other": flow("other")}
    assert [(its.name, its.value, its.tone) for its in signs(store, late, now)] == [
        ("decisions a second", "0.07", "good"),
        ("oldest waiting", "99 s", "poor"),
        ("new dead letters", "1", "poor"),
        ("pages without content", "50 %", "low"),
    ]
    for number in range(100):
        at = now - 60_000 * (8 + number % 50)
        store.add([(Entry(Position("x.dlq", 0, 1 + number), at, "h", "page", "u", "v", "dead"), [])])
    assert signs(store, late, now)[2].tone == "low"  # fewer than before
    idle = signs(Store(10), {"other": flow("other")}, now)
    assert [its.tone for its in idle] == ["none", "good", "good", "none"]


def test_dots_have_score_and_tone(console: OwnConsole) -> None:
    dots = console.client.get("/live/dots?span=all").json()
    assert sorted(dots["topic"]) == ["claims.evaluated.v1", "pages.scored.v1"]
    assert dots["score"][dots["topic"].index("pages.scored.v1")] == PAGE.cts_score
    only = console.client.get("/live/dots?span=all&topic=pages.scored.v1").json()
    assert only["topic"] == ["pages.scored.v1"]
    assert console.client.get("/live/dots?topic=search.evaluated.v1").json()["at"] == []


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


def test_a_decision_shows_its_reasons_and_keeps_its_verdict(console: OwnConsole) -> None:
    text = console.client.get("/decision/pages.scored.v1/0/0").text
    assert PAGE.cts_breakdown[0].reason in text
    assert PAGE.title in text
    assert "In its context" in text
    assert "under other rules" not in text
    console.write(PAGE.model_copy(update={"config_version": "earlier"}), "score_page")
    assert "under other rules" in console.client.get("/decision/pages.scored.v1/0/1").text
    console.forget([Position("pages.scored.v1", 0, 0)])
    answer = console.client.get("/decision/pages.scored.v1/0/0")
    assert answer.status_code == 200
    assert "Kafka has deleted this record" in answer.text
    assert f"score {PAGE.cts_score}" in answer.text


def test_the_search_leads_to_the_screen_of_a_subject(console: OwnConsole) -> None:
    assert console.client.get("/find", params={"q": CLAIM.claim_id}).headers["location"] == f"/claim/{CLAIM.claim_id}"
    assert console.client.get("/find", params={"q": PAGE.url}).headers["location"].startswith("/page?url=https%3A")
    assert "<b>nosuch" not in console.client.get("/find", params={"q": "<b>nosuch"}).text


def test_hostile_values_are_shown_as_text(console: OwnConsole) -> None:
    title = "</script><img src=x onerror=alert(1)>\u202egnp.exe"
    position = console.write(PAGE.model_copy(update={"url": "javascript:alert(1)", "title": title}), "score_page")
    text = console.client.get(f"/decision/pages.scored.v1/0/{position.offset}").text
    assert "<img src=x" not in text
    assert 'href="javascript:' not in text
    assert "\u202e" not in text
    assert "U+202E" in text


async def test_the_feed_gives_new_decisions_and_ends_for_a_slow_screen() -> None:
    feed, entry = Feed(), Entry(Position("t", 0, 1), 1, "h", "page", "s", "v", "good")
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
    sent = json.loads(first.split("data: ")[1])
    assert late.offset in [dot["offset"] for dot in sent["dots"]]
    assert f'data-path="/decision/pages.scored.v1/0/{late.offset}"' in "".join(sent["rows"])
    console.context.feed.publish([Entry(Position("t", 0, 1), 1, "h", "page", "s", "v", "good")])
    assert "/decision/t/0/1" in await anext(stream)


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
