"""The page to browse, as an application serves it."""

import base64
import json
import re
from collections.abc import AsyncIterator
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import yaml

from streams.app.application import Application
from streams.asyncapi.routes import asyncapi_page, content_security_policy
from streams.generate.asyncapi import asyncapi_document
from streams.http.server import HttpServer
from streams.settings.model import HttpSettings, load_settings
from streams.topology import HANDLERS, TOPICS

EMPTY = {"meta", "link", "input", "br"}
LOADS = {"src", "srcset", "href", "action", "data", "poster", "background", "style"}


class Page(HTMLParser):
    """The elements of a page with their attributes; every one that is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def values(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    settings = load_settings(kafka={"bootstrap_servers": "kafka.invalid:9092", "topic_prefix": "shop."})
    application = Application(settings)
    async with (
        HttpServer(application.asgi, HttpSettings(port=0)) as server,
        httpx.AsyncClient(base_url=f"http://{server.address}", trust_env=False) as client,
    ):
        yield client


async def test_the_document_is_served_with_the_names_of_the_cluster(client: httpx.AsyncClient) -> None:
    as_yaml, as_json = await client.get("/asyncapi.yaml"), await client.get("/asyncapi.json")
    assert (as_yaml.status_code, as_json.status_code) == (200, 200)
    assert as_yaml.headers["content-type"].startswith("application/yaml")
    document = as_json.json()
    assert yaml.safe_load(as_yaml.text) == document == json.loads(json.dumps(asyncapi_document("shop.")))
    assert {channel["address"] for channel in document["channels"].values()} == {f"shop.{t.name}" for t in TOPICS}
    groups = {o["bindings"]["kafka"]["groupId"]["const"] for o in document["operations"].values() if "bindings" in o}
    assert groups == {f"shop.{handler.group}" for handler in HANDLERS}


async def test_the_page_asks_no_host_for_anything_and_may_not(client: httpx.AsyncClient) -> None:
    answer = await client.get("/asyncapi")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"] == content_security_policy()
    page = Page(answer.text)
    for name in LOADS - {"href"}:
        assert page.values(name) == []
    assert {link for link in page.values("href") if not link.startswith("#")} == {
        "data:,", "/asyncapi.yaml", "/asyncapi.json",
    }  # fmt: skip
    assert not [tag for tag, _ in page.elements if tag in {"form", "iframe", "object", "img", "button", "base"}]
    assert not re.search(
        r"@import|url\(|fetch\(|XMLHttp|WebSocket", "".join(page.texts["style"] + page.texts["script"])
    )


async def test_csp_admits_only_this_style_and_script(client: httpx.AsyncClient) -> None:
    policy = dict(part.split(" ", 1) for part in content_security_policy().split("; "))
    page = Page((await client.get("/asyncapi")).text)
    for tag in ("style", "script"):
        digest = base64.b64encode(sha256("".join(page.texts[tag]).encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{digest}'"
    assert policy["default-src"] == "'none'"
    assert not re.search(r"unsafe|https?:|\*", " ".join(policy.values()))


async def test_each_topic_handler_and_schema_has_an_anchor(
    client: httpx.AsyncClient,
) -> None:
    page = Page((await client.get("/asyncapi")).text)
    places = page.values("id")
    assert len(places) == len(set(places))
    assert {link[1:] for link in page.values("href") if link.startswith("#")} <= set(places)
    schemas = asyncapi_document()["components"]["schemas"]
    assert {place for place in places if "-" in place} == {
        *(f"topic-{topic.name}" for topic in TOPICS),
        *(f"handler-{handler.name}" for handler in HANDLERS),
        *(f"schema-{name}" for name in schemas),
    }


async def test_all_golden_messages_are_there_to_read(client: httpx.AsyncClient) -> None:
    page = Page((await client.get("/asyncapi")).text)
    shown = [json.loads(text) for text in page.texts["pre"] if text.startswith("{")]
    for message in asyncapi_document()["components"]["messages"].values():
        for example in message["examples"]:
            assert isinstance(example["payload"], str) or example["payload"] in shown


def test_what_a_document_says_is_text_and_never_markup() -> None:
    document: dict[str, Any] = asyncapi_document()
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    channel = next(iter(document["channels"].values()))
    channel["description"] = channel["address"] = channel["x-read-by"] = hostile
    channel["x-read-by"] = [hostile]
    message = document["components"]["messages"]["CrawledPage"]
    message.update(name=hostile, summary=hostile, contentType=hostile)
    message["examples"].append({"name": hostile, "payload": {"text": hostile}})
    field = document["components"]["schemas"]["CrawledPage"]["properties"]["url"]
    field.update(description=hostile, default=hostile, pattern=hostile, enum=[hostile])
    page = Page(asyncapi_page(document))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert "img" not in {tag for tag, _ in page.elements}
    assert not [attributes for _, attributes in page.elements if "onerror" in attributes]
