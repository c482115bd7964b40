"""Every screen: what requests need, and what every answer has."""

import re
from pathlib import Path
from unittest.mock import AsyncMock

import pytest
from aiokafka.errors import KafkaConnectionError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from streams.console.app import SCREENS, make_context
from streams.console.context import Screen
from streams.kafka.clients import TlsFileError
from streams.kafka.settings import KafkaSettings
from streams.settings.model import SettingsError
from tests.streams.console.consoles import AUTHORIZED, OWN, TOKEN, OwnConsole, settings
from tests.tables import tables

TABLES = tables(__file__)

PATHS = [screen.path for screen in SCREENS]


@pytest.fixture
def console() -> OwnConsole:
    return OwnConsole()


async def done(request: Request) -> Response:
    del request
    return PlainTextResponse("done")


def with_action() -> OwnConsole:
    """A console with one action more."""
    action = Screen("Act", "/act", "x", "acts", lambda its: [Route("/act", its.guard.acting(done), methods=["POST"])])
    return OwnConsole(screens=(*SCREENS, action))


@pytest.mark.parametrize("path", PATHS)
def test_a_screen_is_ours_alone_and_marked_in_the_navigation(console: OwnConsole, path: str) -> None:
    answer = console.client.get(path)
    assert answer.status_code == 200
    [current] = re.findall(r'<a href="([^"]+)" data-go="." aria-current="page">', answer.text)
    assert current == path
    assert console.client.get(path, headers={"host": "evil.example"}).status_code == 421
    # Neither an inline script or style, nor an address of another server.
    assert re.findall(r"<script(?! src=\"/static/[\w.]+\"( defer)?></script>)", answer.text) == []
    assert re.findall(r"\son\w+\s*=|<style|\sstyle\s*=|javascript:", answer.text) == []
    assert re.findall(r'(?:src|href|action)="(?!/|#)([^"]*)"', answer.text) == []


@pytest.mark.parametrize("path", [*PATHS, "/nosuch", "/static/console.js", "/healthz"])
def test_an_answer_has_the_security_headers(console: OwnConsole, path: str) -> None:
    headers = console.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("headers", TABLES["a_page_of_another_site_can_not_read"])
def test_a_page_of_another_site_can_not_read_but_may_link(console: OwnConsole, headers: dict[str, str]) -> None:
    assert console.client.get("/live/dots", headers=headers).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert console.client.get("/", headers=link).status_code == 200


def test_an_action_needs_our_origin() -> None:
    client = with_action().client
    client.post("/sign-in", data={"token": TOKEN}, headers=OWN)
    assert client.post("/act", headers=OWN).text == "done"
    assert client.post("/act", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/act").status_code == 403
    cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.post("/act", headers=OWN | cross).status_code == 403


@pytest.mark.parametrize(("token", "status"), [("", 403), (TOKEN, 401)])
def test_every_action_needs_the_token(token: str, status: int) -> None:
    console = OwnConsole(token)
    routes = [route for screen in SCREENS for route in screen.routes(console.context) if isinstance(route, Route)]
    routes = [route for route in routes if route.path != "/what-if/try"]  # it computes, and changes nothing
    places = [route.path for route in routes if "POST" in (route.methods or ())]
    posts = {path: re.sub(r"{\w*}", "x", re.sub(r"{\w*:int}", "1", path)) for path in places}
    answers = {
        path: console.client.post(url, headers=OWN | {"authorization": "Bearer "}).status_code
        for path, url in posts.items()
    }
    assert answers == dict.fromkeys(posts, status)


def test_without_a_configured_token_nothing_acts() -> None:
    client = OwnConsole(token="").client
    assert client.post("/sign-in", data={"token": ""}, headers=OWN).status_code == 401
    assert "Read only" in client.get("/").text


def test_the_cookie_is_strict_and_is_not_the_token(console: OwnConsole) -> None:
    answer = console.client.post("/sign-in", data={"token": TOKEN, "next": "/?span=1h"}, headers=OWN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/?span=1h")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert "Sign out" in console.client.get("/").text
    console.client.post("/sign-out", headers=OWN)
    assert "Sign out" not in console.client.get("/").text


def test_a_form_without_a_length_is_refused(console: OwnConsole) -> None:
    headers = OWN | {"content-length": "10", "transfer-encoding": "chunked"}
    assert console.client.post("/sign-in", content=b"token=wrong", headers=headers).status_code == 411


def test_a_wrong_token_is_refused(console: OwnConsole) -> None:
    given = [*(f"guess {number}" for number in range(5)), TOKEN]
    answers = [console.client.post("/sign-in", data={"token": token}, headers=OWN) for token in given]
    assert [answer.status_code for answer in answers] == [401] * 5 + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert not any("set-cookie" in answer.headers for answer in answers)


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example/", "/\\evil.example", ""])
def test_sign_in_leads_to_this_server_only(console: OwnConsole, target: str) -> None:
    answer = console.client.post("/sign-in", data={"token": TOKEN, "next": target}, headers=OWN)
    assert answer.headers["location"] == "/"


def test_reading_may_need_the_token() -> None:
    client = OwnConsole(reading_needs_token=True).client
    for path in (*PATHS, "/live/dots", "/decision/pages.scored.v1/0/0", "/nosuch"):
        assert client.get(path).status_code == 303
        assert client.get(path, headers=AUTHORIZED).status_code in (200, 404)
    part = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}
    assert client.get("/state", headers=part).status_code == 401
    assert "Reading does not" not in client.get("/sign-in").text
    assert client.get("/?span=1h").headers["location"] == "/sign-in?next=%2F%3Fspan%3D1h"
    assert client.get("/static/console.css").status_code == client.get("/sign-in").status_code == 200
    client.post("/sign-in", data={"token": TOKEN}, headers=OWN)
    assert client.get("/").status_code == 200


def test_a_wrong_file_of_the_settings_ends_the_start() -> None:
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", security_protocol="SSL", ssl_cafile=Path("/etc/no-ca.pem"))
    with pytest.raises(TlsFileError, match="ASSAY_KAFKA__SSL_CAFILE"):
        make_context(settings().model_copy(update={"kafka": kafka}))


def test_reading_that_needs_a_token_needs_one_in_the_settings() -> None:
    with pytest.raises(SettingsError, match="ASSAY_HTTP__TOKEN"):
        OwnConsole(token="", reading_needs_token=True)


@pytest.mark.parametrize(
    "error", [KafkaConnectionError("no broker answers"), TlsFileError("ssl_cafile", Path("ca.pem"), OSError("missing"))]
)
@pytest.mark.parametrize("path", TABLES["an_unknown_object_answers_503_while_kafka_is_down"])
def test_an_unknown_object_answers_503_while_kafka_is_down(
    console: OwnConsole, monkeypatch: pytest.MonkeyPatch, path: str, error: Exception
) -> None:
    unreachable = AsyncMock(side_effect=error)
    for name in ("at", "events", "newest"):
        monkeypatch.setattr(console.records, name, unreachable)
    answer = console.client.get(path)
    assert answer.status_code == 503
    assert "Kafka can&#39;t be read" in answer.text


@pytest.mark.parametrize("path", TABLES["an_unknown_object_is_missing"])
def test_an_unknown_object_is_missing(console: OwnConsole, path: str) -> None:
    assert console.client.get(path).status_code == 404
