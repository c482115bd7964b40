"""The data of the demonstration: the pages of the sample web, and the events of ``events/*.jsonl`` about it.

The sample web is a few sites as plain files, one folder for each host, served on loopback under their own names.
``/events/today`` is ``events/today.html``, a query is part of the file's name, ``/`` is ``index.html``. The snippets in
the retrieval batches are those that a search engine would show of these pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from schemas.event import Event
from schemas.pages import CrawledPage
from streams.topology import (
    CLAIMS_EXTRACTED,
    RANKING_REQUESTED,
    RETRIEVAL_BATCHES,
    SNIPPETS_REQUESTED,
    UTTERANCES_RECORDED,
    Topic,
)

FOLDER = Path(__file__).parent / "web"

Send = Callable[[dict[str, Any]], Awaitable[None]]


def hosts() -> tuple[str, ...]:
    return tuple(sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()))


def page(url: str) -> bytes:
    host, _, path = url.partition("://")[2].partition("/")
    file = find(host, f"/{path}", "")
    if file is None:
        raise KeyError(url)
    return file.read_bytes()


def find(host: str, path: str, query: str) -> Path | None:
    if host not in hosts():
        return None
    name = path.strip("/") or "index"
    if not name.endswith(".txt"):
        name = f"{name}__{query}.html" if query else f"{name}.html"
    file = FOLDER / host / name
    # Not by resolving it: an installation may be made of links.
    return file if ".." not in file.parts[len(FOLDER.parts) :] and file.is_file() else None


async def serve(scope: dict[str, Any], receive: Any, send: Send) -> None:  # noqa: ARG001 - the signature is ASGI's
    """The sites as one ASGI application, told apart by the Host header."""
    if scope["type"] != "http":
        return
    headers = dict(scope["headers"])
    host = headers.get(b"host", b"").decode("latin-1").partition(":")[0]
    file = find(host, scope["path"], scope["query_string"].decode("latin-1"))
    body = b"<h1>Page not found</h1>" if file is None else file.read_bytes()
    kind = b"text/plain" if file is not None and file.suffix == ".txt" else b"text/html; charset=utf-8"
    status = 404 if file is None else 200
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})


SHOP = "http://shop.lydhuset.example"
NOTICE = "https://water.example.gov.tw/notices/reservoir-levels-2026"
WIRE_REPORT = "https://news.chengshi-ribao.example/life/202611210031"
BREAD = "https://slow-kitchen.example/bread-without-kneading"
ORDERS = "https://slow-kitchen.example/note-to-machines"
BROKEN = "https://slow-kitchen.example/oven.html"

_PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4  # a picture behind an address that ends in .html


def events(now: datetime) -> list[Event]:
    """Everything that is published at the start, in this order; ``queries`` follow when it is processed."""
    topics = (RETRIEVAL_BATCHES, UTTERANCES_RECORDED, CLAIMS_EXTRACTED, SNIPPETS_REQUESTED)
    return [*pages(now), *(event for topic in topics for event in _recorded(topic))]


def pages(now: datetime) -> list[CrawledPage]:
    crawled = [
        CrawledPage(url=url, html_base64=page(url), content_type="text/html; charset=utf-8", fetched_at=now)
        for url in (NOTICE, WIRE_REPORT, BREAD, ORDERS, f"{SHOP}/")
    ]
    broken = CrawledPage(url=BROKEN, html_base64=_PNG, content_type="text/html", fetched_at=now)
    return [*crawled, broken]


def queries() -> list[Event]:
    return _recorded(RANKING_REQUESTED)


def _recorded(topic: Topic) -> list[Event]:
    lines = (Path(__file__).parent / "events" / f"{topic.name}.jsonl").read_bytes().splitlines()
    return [topic.event.model_validate_json(line) for line in lines]
