"""``assay score``: pages of files, folders, standard input and the web, for people and for programs."""

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Done
from tests.samples import ROOT, environment, run_assay, variables_of_assay
from tests.streams.fetch.web import response, serving
from tests.warm_processes import WARM, warm_processes

PAGE = b"<title>Storm</title><p>The storm reached the coast on Monday and closed two harbours.</p>"


@pytest.fixture
def score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs ``assay score`` in this process and in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in variables_of_assay():
        monkeypatch.delenv(name)

    def run(*arguments: str, given: bytes = b"") -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
            return Done(run_assay("score", *arguments), *capsys.readouterr())

    return run


def lines(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.out.splitlines()]


def test_file_is_scored_at_its_address(score: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "storm.html").write_bytes(PAGE)
    done = score("storm.html", "--url", "https://www.bbc.com/news/storm")
    [page] = lines(done)
    assert (done.status, done.err) == (0, "")
    assert page["url"] == "https://www.bbc.com/news/storm"
    assert page["cts_score"] > 20
    assert page["tier"] in "ABC"
    assert page["title"] == "Storm"
    assert page["reasons"][0].startswith("+")


def test_pages_as_markdown(score: Callable[..., Done]) -> None:
    html = b"<title>Rain</title><p>It rained in two towns on Monday, the office said.</p><pre>x = 1\n  y</pre>"
    done = score("-", "--markdown", given=html)
    expected = "# Rain\n\nIt rained in two towns on Monday, the office said.\n\n```\nx = 1\n  y\n```\n"
    assert (done.status, done.out) == (0, expected)


def test_a_page_without_content_ends_with_1_if_strict(score: Callable[..., Done]) -> None:
    html = b"<title>Page not found</title><h1>Page not found</h1><p>The page does not exist any more.</p>"
    assert [page["state"] for page in lines(score("-", given=html))] == ["gone"]
    assert (score("-", given=html).status, score("-", "--strict", given=html).status) == (0, 1)


def test_standard_input_is_a_page_or_json_lines(score: Callable[..., Done]) -> None:
    assert [page["title"] for page in lines(score("-", given=PAGE))] == ["Storm"]
    given = b'{"url": "https://a.example/1", "html": "<title>One</title><p>One."}\n{"url": 7}\n'
    done = score("-", given=given)
    one, refused = lines(done)
    assert one["title"] == "One"
    assert (refused["page"], refused["refused"]) == ("standard input:2", "invalid")
    assert done.status == 1


def test_folders_and_files_of_json_lines(score: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "site" / "below").mkdir(parents=True)
    for name in ("a.html", "below/b.htm"):
        (tmp_path / "site" / name).write_bytes(PAGE)
    (tmp_path / "pages.jsonl").write_text('{"url": "https://a.example/1", "html": "<p>One."}\n', "utf-8")
    pages = lines(score("site", "pages.jsonl"))
    assert [page["url"] for page in pages] == [
        "https://file.invalid/a.html", "https://file.invalid/below/b.htm", "https://a.example/1",
    ]  # fmt: skip


async def test_addresses_are_fetched_with_the_guard(score: Callable[..., Done], tmp_path: Path) -> None:
    config = tmp_path / "local.yaml"
    async with serving() as web:
        web.routes["/storm"] = response(PAGE.decode())
        config.write_text(f"fetch: {{resolve: {{site.example: '{web.place}'}}, min_delay_seconds: 0}}\n", "utf-8")
        done = await asyncio.to_thread(score, "http://site.example/storm", "--config", str(config))
        [refused] = lines(private := await asyncio.to_thread(score, f"http://{web.place}/storm"))
    [page] = lines(done)
    assert (page["url"], page["title"], done.status) == ("http://site.example/storm", "Storm", 0)
    assert (refused["refused"], private.status) == ("forbidden_address", 1)


def test_the_log_is_not_among_the_results() -> None:
    program = "from streams.cli.main import main; main()"
    with warm_processes():
        done = subprocess.run(
            [WARM, "-c", program, "score", "http://127.0.0.1:1/"],
            cwd=ROOT, env=environment(ASSAY_FETCH__CACHE_PATH="/dev/full"), capture_output=True, check=False,
        )  # fmt: skip
    [line] = done.stdout.splitlines()
    assert json.loads(line)["refused"] == "forbidden_address"
    assert b"fetch cache failed" in done.stderr


def test_one_page_for_people_has_its_reasons(score: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "storm.html").write_bytes(PAGE)
    shown = score("storm.html", "--table").out.splitlines()
    assert shown[:3] == ["Storm", "storm.html", "score 10 of 100, tier C, label LOW, en"]
    assert shown[3] == "  +10  file.invalid is not listed"
    assert "       its address is not known: --url names it" in shown
    assert len(shown) < 24
    assert max(map(len, shown)) < 80


def test_many_pages_for_people_are_a_line_each(score: Callable[..., Done], tmp_path: Path) -> None:
    mirror = tmp_path / "pages" / "www.bbc.com" / "news" / "a-long-name-of-a-section"
    mirror.mkdir(parents=True)
    (tmp_path / "pages" / "v1.2").mkdir()
    (mirror / "storm.html").write_bytes(PAGE.replace(b"<p>", b"<time datetime=2024-05-03 pubdate></time><p>"))
    (tmp_path / "pages" / "v1.2" / "wall.html").write_bytes(b"<title>Sign in</title><p>Sign in to continue.")
    (tmp_path / "pages" / "style.css").write_bytes(b"p {}")
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7 ")
    (tmp_path / "notes.md").write_bytes(b"Notes with a <b>tag</b>")
    done = score("pages", "a.pdf", "notes.md", "nothing.html", "--table")
    assert done.out.splitlines() == [
        "score  tier  label   date        state         page",
        "    0  C     LOW                 login         v1.2/wall.html",
        "   33  C     LOW     2024-05-03  content       bbc.com/…/storm.html",
        "    -  -     unreadable_page: a.pdf: looks like a PDF document",
        "    -  -     unreadable_page: notes.md: plain text; extracted text goes into J…",
        "    -  -     invalid: nothing.html: No such file or folder; an address begins …",
        "5 pages: A 0, B 0, C 2, refused 3; without content: login 1",
    ]
    assert done.err.splitlines()[-1] == "assay score: passed over 1 (1 css)"
    assert done.status == 1


def test_an_address_is_that_of_one_page(score: Callable[..., Done], tmp_path: Path) -> None:
    assert "the address of one page" in score(".", "--url", "https://a.example/").err
    assert "use one of" in score("-", "--table", "--markdown").err


@pytest.mark.parametrize(
    ("source", "words"),
    [("", "name an address"), ("ftp://a.example/x", "begins with https://"), ("a.example", "begins with https://")],
)
def test_what_is_no_page_is_refused(score: Callable[..., Done], source: str, words: str) -> None:
    done = score(source)
    assert done.status == 1
    assert words in lines(done)[0]["detail"]


def test_hostile_page_is_refused_and_the_others_are_scored(score: Callable[..., Done], tmp_path: Path) -> None:
    (tmp_path / "a.html").write_bytes(b"<div>" * 5000)
    (tmp_path / "b.html").write_bytes(PAGE)
    (tmp_path / "c.html").write_bytes(b" ")
    hostile, page, empty = lines(score("a.html", "b.html", "c.html"))
    assert hostile["refused"] == "too_complex"
    assert page["title"] == "Storm"
    assert empty["detail"] == "it is empty"
