"""A real crawl on loopback: items of each type get one field, and pages reach Kafka."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from streams.cli.commands import run_command_line
from streams.local_kafka.broker import LocalKafka
from tests.samples import environment

SPIDER = """
from dataclasses import dataclass
import scrapy

class Declared(scrapy.Item):
    url = scrapy.Field()
    html = scrapy.Field()

@dataclass
class Data:
    url: str
    html: str
    assay: dict | None = None

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [URLS]

    def parse(self, response):
        for kind in dict, Declared, Data:
            yield kind(url=response.url, html=response.text)
"""


class Site(BaseHTTPRequestHandler):
    """Two pages, one of them a PDF that calls itself HTML."""

    def do_GET(self) -> None:
        body = b"%PDF-1.4" if self.path == "/pdf" else b"<title>Storm</title><p>The storm closed two harbours."
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stays silent."""


@pytest.fixture
def site() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def crawl(
    folder: Path, site: str, pipeline: str, *settings: str, variables: dict[str, str] | None = None
) -> tuple[list[dict[str, object]], str]:
    """The items of a crawl, and its log."""
    (folder / "pages.py").write_text(SPIDER.replace("URLS", f"{site + '/storm'!r}, {site + '/pdf'!r}"), "utf-8")
    given = [f"ITEM_PIPELINES={json.dumps({pipeline: 300})}", "TELNETCONSOLE_ENABLED=0", *settings]
    options = [option for setting in given for option in ("-s", setting)]
    command = [sys.executable, "-m", "scrapy", "runspider", "pages.py", "-O", "items.jsonl", *options]
    variables = environment(**(variables or {}))
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=90, check=True)
    lines = (folder / "items.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines], done.stderr


def test_items_of_any_type_get_one_field_and_none_is_lost(site: str, tmp_path: Path) -> None:
    items, _ = crawl(tmp_path, site, "assay.integrations.scrapy.ScorePipeline")
    told: list[Any] = [item["assay"] for item in items]
    scores = [one for one in told if "refused" not in one]
    assert [(one["cts_score"], one["trust_label"], one["state"]) for one in scores] == [(10, "LOW", "content")] * 3
    assert scores[0]["markdown"].startswith("# Storm")
    assert [one["refused"] for one in told if one not in scores] == ["unreadable_page"] * 3


def test_items_below_a_label_are_dropped(site: str, tmp_path: Path) -> None:
    items, log = crawl(tmp_path, site, "assay.integrations.scrapy.ScorePipeline", "ASSAY_LEAST_LABEL=MEDIUM")
    assert all("refused" in item["assay"] for item in items)  # type: ignore[operator]
    assert len(items) == 3
    assert "the label is LOW" in log


@pytest.mark.kafka
def test_pages_are_published(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with LocalKafka() as kafka:
            monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", kafka.bootstrap_servers)
            assert await asyncio.to_thread(run_command_line, ["topics", "create"]) == 0
            variable = {"ASSAY_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap_servers}
            items, _ = await asyncio.to_thread(
                crawl, tmp_path, site, "assay.integrations.scrapy.PublishPipeline", variables=variable
            )
            assert len(items) == 6
            counted = await asyncio.to_thread(
                run_command_line, ["tail", "pages.crawled.v1", "--from", "earliest", "--no-follow", "--json"]
            )
            assert counted == 0

    asyncio.run(work())
