"""``assay try`` as people run it: each line gives one line. What depends on the process runs in its own process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handlers.index_page import IndexPageRules, index_page
from schemas.needs import Ask
from streams.pipeline.services import LiveServices
from streams.settings.model import load_settings
from streams.topology import TOPIC_BYTES
from tests.command_line import Done, Ran
from tests.handlers.indexing.pages import scored_page
from tests.rules import shipped_rules
from tests.samples import ROOT, environment, instance
from tests.warm_processes import WARM, warm_processes

PAGE = b'{"url":"https://a.example/1","html":"<title>T</title><p>Some text.</p>"}'
BATCH = b'{"batchId":"b","query":"q","retrievedContent":[]}'
MIB = 1024 * 1024


def command(*arguments: str) -> list[str]:
    return [WARM, "-c", "from streams.cli.main import main; main()", *arguments]


@pytest.fixture(autouse=True)
def warm() -> Iterator[None]:
    with warm_processes():
        yield


def answers(done: Done) -> list[dict[str, Any]]:
    """The lines of standard output, each of which is JSON; standard error names the lines that are no events."""
    assert all(line.startswith("assay try: standard input:") for line in done.err.splitlines()[:20]), done.err
    assert bool(done.err) == (done.status == 1)
    return [json.loads(line) for line in done.out.splitlines()]


def outcomes(done: Done) -> list[tuple[str, str | None]]:
    return [(answer["outcome"], answer["reason"]) for answer in answers(done)]


# --- one line for each line ------------------------------------------------------------------------------------------


def test_each_line_has_its_answer_in_order(assay: Ran) -> None:
    cases: list[tuple[bytes, tuple[str, str | None]]] = [
        (PAGE, ("emit", None)),
        (PAGE[:-5], ("dead", "undecodable")),
        (b"{}", ("dead", "invalid")),
        (b'{"url":17,"html":"<p>"}', ("dead", "invalid")),
        (b'{"url":"https://a.example/","html":["<p>"]}', ("dead", "invalid")),
        (b'{"url":"https://a.example/"}', ("dead", "invalid")),
        (b'{"url":"https://a.example/\\u0000","html":"<p>"}', ("dead", "invalid")),
        (b'{"url":"https://a.example/","html":"<p>A text with \\u0000 within.</p>"}', ("emit", None)),
        (b'{"url":"https://a.example/","html":"<p>A text with \\ud800 within.</p>"}', ("emit", None)),
        (b'{"url":"","html":"<p>"}', ("dead", "invalid")),
        (b'{"url":"no address","html":"<p>"}', ("dead", "bad_address")),
        (b'{"url":"https://a.example/","html":"' + b"<div>" * 2_000 + b'"}', ("dead", "too_complex")),
        (PAGE + b"\r", ("emit", None)),
        (PAGE, ("emit", None)),
    ]
    done = assay("try", "score_page", given=b"\n".join(line for line, _ in cases) + b"\n")
    assert done.status == 1
    assert outcomes(done) == [expected for _, expected in cases]
    assert "assay try: standard input:2: undecodable: " in done.err
    first, *_, last = answers(done)
    assert first == last
    assert first["events"][0]["topic"] == "pages.scored.v1"
    assert first["events"][0]["key"] == first["events"][0]["value"]["url"] == "https://a.example/1"
    assert answers(done)[2]["detail"].startswith("url: ")


def test_huge_lines_are_answered_and_the_run_continues(assay: Ran) -> None:
    def page_of(size: int) -> bytes:
        text = b"<p>" + b"words in it " * 16 + b"</p>"
        return b'{"url":"https://a.example/","html":"%s"}' % (text * (size // (len(text) + 1)))

    lines = [page_of(8 * MIB - 100), page_of(TOPIC_BYTES + MIB), b"x" * (40 * MIB), PAGE]
    done = assay("try", "score_page", given=b"\n".join(lines))
    assert done.status == 1
    assert outcomes(done) == [("emit", None), ("dead", "too_large"), ("dead", "too_large"), ("emit", None)]


def test_try_guards_the_network_and_logs_to_standard_error(assay: Ran, tmp_path: Path) -> None:
    (tmp_path / ".assay").touch()  # where the cache's folder would be made
    wanted = {"extraction_id": "x", "query": "q", "reason": "aggregator_detected", "target_url": "http://127.0.0.1:9/"}
    done = assay("try", "fetch_page", given=json.dumps(wanted).encode())
    assert done.status == 0
    assert done.document["events"][0]["value"]["failure"] == "forbidden_address"
    assert "fetch cache failed" in done.err


# --- output ----------------------------------------------------------------------------------------------------------


def test_output_is_utf_8_on_any_terminal(tmp_path: Path) -> None:
    page = '{"url":"https://a.example/å","html":"<title>中央社</title>"}'.encode()
    done = subprocess.run(
        command("try", "score_page"),
        input=page,
        capture_output=True,
        cwd=tmp_path,
        env=environment(PYTHONIOENCODING="utf-16", LC_ALL="C"),
        timeout=60,
    )
    [answer] = answers(Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode()))
    assert answer["events"][0]["key"] == "https://a.example/å"
    assert answer["events"][0]["value"]["title"] == "中央社"


def test_answers_stream(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("try", "classify_results"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for _ in range(3):
            process.stdin.write(BATCH + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["outcome"] == "emit"
        process.stdin.close()
        assert process.wait(60) == 0


def test_try_imports_no_client_and_builds_only_needed_events() -> None:
    clients = ("aiokafka", "faststream", "httpx", "openai", "prometheus_client", "qdrant_client")
    heavy = (*clients, "rich", "structlog", "uvicorn")
    program = (
        "import io, sys; from pathlib import Path; from streams.settings.model import load_settings;"
        "from streams.cli.try_ import run_try;"
        "sys.stdin = io.TextIOWrapper(io.BytesIO(sys.argv[1].encode()));"
        "run_try('classify_results', None, load_settings(), strict=False);"
        f"print([name for name in {heavy} if name in sys.modules]);"
        "from streams.topology import TOPICS;"
        "print(*(topic.name for topic in TOPICS if topic.event.__pydantic_complete__))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, BATCH.decode()], capture_output=True, env=environment(), timeout=60
    )
    assert done.stderr == b""
    answer, imported, built = done.stdout.splitlines()
    assert json.loads(answer)["outcome"] == "emit"
    assert imported == b"[]"
    assert set(built.split()) <= {b"retrieval.batches.v1", b"results.classified.v1", b"extraction.needed.v1"}


# --- queries ---------------------------------------------------------------------------------------------------------

QUERY = b'{"request_id":"q","query":"boat race"}'


def test_a_query_reads_the_index_that_is_there(assay: Ran, tmp_path: Path) -> None:
    async def fill(folder: Path) -> None:
        page = scored_page("A", "The boat race starts at noon.", url="https://a.example/1", title="Boat race")
        services = LiveServices(load_settings(index={"path": folder}))
        asked = instance(Ask, index_page(page, shipped_rules(IndexPageRules)))
        await services.answer(asked.need, None)
        await services.aclose()

    asyncio.run(fill(tmp_path / "index"))
    [answer] = answers(assay("try", "rank_results", given=QUERY, ASSAY_INDEX__PATH=str(tmp_path / "index")))
    [event] = answer["events"]
    assert event["value"]["stages"][0] == "retrieval"
    assert [result["cts_score"] for result in event["value"]["results"]] == [80]


def test_a_full_disk_of_the_output_is_not_blamed_on_the_input(tmp_path: Path) -> None:
    file = tmp_path / "page.jsonl"
    file.write_text('{"url": "https://a.example/", "html": "<p>a"}', "utf-8")
    with Path("/dev/full").open("wb") as full:
        words = command("try", "score_page", str(file))
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (1, b"assay: No space left on device\n")
