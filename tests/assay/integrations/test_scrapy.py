"""A real crawl on loopback: items get scores, refused ones are dropped, and pages reach Kafka."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from streams.cli.commands import run_command_line
from streams.local_kafka.broker import LocalKafka
from tests.samples import environment

SPIDER = """
import scrapy

class Pages(scrapy.Spider):
    name = "pages"
    start_urls = [URLS]

    def parse(self, response):
        yield {"url": response.url, "html": response.text}
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


def test_items_are_scored_and_refused_ones_dropped(site: str, tmp_path: Path) -> None:
    [item], log = crawl(tmp_path, site, "assay.integrations.scrapy.ScorePipeline")
    assert (item["cts_score"], item["trust_label"], item["tier"]) == (10, "LOW", "C")
    assert item["trust_reasons"]
    assert "unreadable_page" in log


def test_items_below_a_label_are_dropped(site: str, tmp_path: Path) -> None:
    items, log = crawl(tmp_path, site, "assay.integrations.scrapy.ScorePipeline", "ASSAY_LEAST_LABEL=MEDIUM")
    assert items == []
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
            assert len(items) == 2
            counted = await asyncio.to_thread(
                run_command_line, ["tail", "pages.crawled.v1", "--from", "earliest", "--no-follow", "--json"]
            )
            assert counted == 0

    asyncio.run(work())
