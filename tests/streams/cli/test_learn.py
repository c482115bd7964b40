"""``assay learn boilerplate`` on files, as a user runs it, and what Assay then leaves out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import Done
from tests.rules import CONFIG
from tests.samples import run_assay, variables_of_assay

NOTICE = "Delivery in three days to every address in the country, free from 50 euros."
Learn = Callable[..., Done]


def lines(pages: int, host: str = "shop.example") -> list[str]:
    """Crawled pages of a host, which all end with the notice."""
    return [
        json.dumps(
            {
                "url": f"https://{host}/products/{number}",
                "html": f"<title>Pole {number}</title><article><h1>Pole {number}</h1>"
                f"<p>The pole with the number {number} is made of {number + 7} layers of ash wood, glued by hand.</p>"
                f"<p>It weighs {number * 31} grams and carries a person of up to {number + 60} kilograms.</p>"
                f"<p>{NOTICE}</p></article>",
            }
        )
        for number in range(pages)
    ]


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Learn:
    """Runs ``assay`` in an empty folder, with a configuration directory of its own."""
    monkeypatch.chdir(tmp_path)
    for name in variables_of_assay():
        monkeypatch.delenv(name)
    shutil.copytree(CONFIG, tmp_path / "config")
    monkeypatch.setenv("ASSAY_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("ASSAY_WORKERS__PROCESSES", "0")
    (tmp_path / "pages.jsonl").write_text("\n".join([*lines(6), *lines(3, "small.example"), "no page"]) + "\n")

    def run(*arguments: str) -> Done:
        return Done(run_assay(*arguments), *capsys.readouterr())

    return run


def test_what_is_learned_is_left_out_of_contents(learn: Learn, tmp_path: Path) -> None:
    before = learn("try", "score_page", "pages.jsonl").out.splitlines()
    done = learn("learn", "boilerplate", "pages.jsonl")
    file = tmp_path / "config" / "boilerplate.json"
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == "repeated lines: 1, on 1 of 2 hosts; pages: 9"
    assert f"Assay reads {file} when it starts: restart running workers" in done.out
    after = learn("try", "score_page", "pages.jsonl").out.splitlines()
    contents = [json.loads(line)["events"][0]["value"] for line in (before[0], after[0], after[6])]
    assert [NOTICE in page["content"] for page in contents] == [True, False, True]
    assert [len(page["left_out"]) for page in contents] == [0, 1, 0]
    scored = learn("score", "pages.jsonl", "--json").out.splitlines()
    assert [part["excerpt"] for part in json.loads(scored[0])["left_out"]] == [NOTICE]
    assert contents[0]["config_version"] != contents[1]["config_version"]


def test_what_is_known_already_is_learned_again(learn: Learn, tmp_path: Path) -> None:
    file = tmp_path / "config" / "boilerplate.json"
    learn("learn", "boilerplate", "pages.jsonl")
    first = file.read_bytes()
    assert learn("learn", "boilerplate", "pages.jsonl").status == 0
    assert file.read_bytes() == first


def test_a_file_elsewhere_is_an_overlay(learn: Learn) -> None:
    done = learn("learn", "boilerplate", "pages.jsonl", "--out", "learned.json", "--json", "--min-pages", "3")
    told = done.document
    assert (told["hosts"], told["lines"], told["pages"], told["refused"]) == (2, 2, 9, 1)
    assert (told["hosts_read"], told["pages_left_out"]) == (2, 0)
    assert told["use"].endswith("with --config learned.json")
    shown = learn("config", "show", "--config", "learned.json", "--json").document
    assert shown["page_reading.boilerplate.version"] == {"value": told["version"], "from": "learned.json"}
    assert not [key for key in shown if key.startswith("page_reading.boilerplate.hosts")]


def test_texts_of_crawlers_teach_nothing(learn: Learn, tmp_path: Path) -> None:
    pages = [{"url": f"https://shop.example/{n}", "content": f"Pole {n}\n{NOTICE}"} for n in range(9)]
    (tmp_path / "texts.jsonl").write_text("\n".join(map(json.dumps, pages)))
    done = learn("learn", "boilerplate", "texts.jsonl")
    assert (done.status, done.out) == (1, "")
    assert "none of 0 hosts repeats a line on 5 different pages or more; give more pages" in done.complaint
    assert not (tmp_path / "config" / "boilerplate.json").exists()


def test_hosts_beyond_the_limit_are_reported(learn: Learn) -> None:
    done = learn("learn", "boilerplate", "pages.jsonl", "--hosts", "1")
    assert done.status == 0
    assert "3 pages of hosts beyond 1 were left out; see --hosts" in done.err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere", "nowhere: No such file or folder; topics of pages: pages.crawled.v1"),
        ("pages.scored.v1", "pages.scored.v1 has no crawled pages"),
    ],
)
def test_wrong_sources(learn: Learn, source: str, message: str) -> None:
    done = learn("learn", "boilerplate", source)
    assert (done.status, message in done.complaint) == (2, True)


def test_a_folder_without_pages(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = learn("learn", "boilerplate", "empty")
    assert (done.status, "no .html files in it" in done.complaint) == (1, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "write it again with `assay learn boilerplate`, or delete it"),
        ("[]", "expected keys and values, found list"),
        (
            '{"page_reading": {"boilerplate": {"version": "000000000000"}}}',
            "learn them again: `assay learn boilerplate`",
        ),
    ],
)
def test_a_damaged_file_is_refused(learn: Learn, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config" / "boilerplate.json").write_text(text)
    done = learn("lag")
    assert (done.status, message in done.complaint) == (2, True)


def test_the_output_cannot_be_written(learn: Learn) -> None:
    done = learn("learn", "boilerplate", "pages.jsonl", "--out", "missing/learned.json")
    assert (done.status, done.complaint) == (1, "assay learn: missing/learned.json: No such file or directory\n")
