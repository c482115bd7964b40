from __future__ import annotations

import io
import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from schemas.pages import ScoredPage
from streams.cli.command import CommandError
from streams.cli.export import Export, PageRows, written
from streams.cli.output import Exact
from streams.settings.model import load_settings
from tests.command_line import Done, Ran
from tests.samples import scored
from tests.tables import tables

TABLES = tables(__file__)


@pytest.fixture
def export(ran: Ran) -> Ran:
    """``export(output=…, …)``: exports, and tells so as JSON, where there is no Kafka."""
    settings = load_settings(kafka={"bootstrap_servers": "127.0.0.1:1"})

    def call(as_json: bool = True, **options: Any) -> Done:
        return ran(Export(form="tsv", as_json=as_json, **options).run, settings)

    return call


def event(number: int) -> dict[str, Any]:
    return scored(f"https://a.example/{number}", "text").to_wire()


WRONG = [
    b"no json",
    b"[]",
    b"7",
    b'{"outcome": "dead", "reason": "invalid", "events": []}',
    b'{"events": 7}',
    b'{"events": [7]}',
    b'{"value": {"url": "u"}}',
]


def lines(*values: Any) -> bytes:
    return b"".join((v if isinstance(v, bytes) else json.dumps(v).encode()) + b"\n" for v in values)


def addresses(rows: str) -> list[str]:
    return [line.split("\t")[0] for line in rows.splitlines()]


def test_invalid_pages_are_reported_and_the_rest_exported(export: Ran, tmp_path: Path) -> None:
    source, output = tmp_path / "pages.jsonl", tmp_path / "pages.tsv"
    source.write_bytes(lines(*WRONG, event(1), *[b"no json"] * 20))
    done = export(as_json=False, source=source, output=output)
    assert addresses(output.read_text()) == ["https://a.example/1"]
    assert (done.status, done.out.partition(", in ")[0]) == (1, f"exported 1 to {output}, refused 27")
    assert [f"{source}:{number}: " in done.err for number in (1, 7, 21, 22)] == [True, True, True, False]
    assert "and 7 more refused" in done.err
    assert "default factory" not in done.err


def test_so_many_records_and_no_more(export: Ran, tmp_path: Path) -> None:
    source, output = tmp_path / "pages.jsonl", tmp_path / "pages.tsv"
    source.write_bytes(lines(event(1), b"no json", event(2)))
    done = export(source=source, output=output, most=1)
    assert (done.status, done.document | {"seconds": 0}) == (0, {"exported": 1, "refused": 0, "seconds": 0})
    assert addresses(output.read_text()) == ["https://a.example/1"]


def page(url: str, title: str, fetched_at: str | None = None) -> ScoredPage:
    at = datetime.fromisoformat(fetched_at) if fetched_at else None
    return scored(url, "text").model_copy(update={"title": title, "fetched_at": at})


def titles(rows: bytes) -> list[str]:
    return [line.split("\t")[1] for line in rows.decode().splitlines()]


@pytest.mark.parametrize(("pages", "kept"), TABLES["export_keeps_the_newest_page_of_each_url"])
def test_export_keeps_the_newest_page_of_each_url(
    pages: tuple[tuple[str, str, str | None], ...], kept: tuple[str, ...]
) -> None:
    target = io.BytesIO()
    rows = PageRows(target, newest=True)
    for told in pages:
        rows.add(page(*told))
    assert target.getvalue() == b""
    assert (rows.finish(), titles(target.getvalue())) == (len(kept), list(kept))


def test_a_file_is_there_as_a_whole(tmp_path: Path) -> None:
    output = tmp_path / "pages.tsv"
    output.write_text("before")
    with written(output) as target:
        target.write(b"after")
        assert output.read_text() == "before"
    assert output.read_text() == "after"
    assert list(tmp_path.iterdir()) == [output]


def leave(target: BinaryIO | Exact, left_by: type[BaseException]) -> None:
    target.write(b"half")
    raise left_by


@pytest.mark.parametrize("left_by", [KeyboardInterrupt, ValueError])
def test_unfinished_output_is_removed(tmp_path: Path, left_by: type[BaseException]) -> None:
    output = tmp_path / "pages.tsv"
    output.write_text("before")
    with pytest.raises(left_by), written(output) as target:
        leave(target, left_by)
    assert output.read_text() == "before"
    assert list(tmp_path.iterdir()) == [output]


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link.tsv").symlink_to(tmp_path / "real.tsv")
    with written(tmp_path / "link.tsv") as target:
        target.write(b"rows")
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "real.tsv").read_bytes() == b"rows"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with written(tmp_path / "pipe") as target:
        target.write(b"rows")
    assert os.read(reader, 100) == b"rows"
    os.close(reader)


@pytest.mark.parametrize(
    ("path", "says"), [("absent/pages.tsv", "No such file"), (".", "Is a directory"), ("/dev/full", "No space left")]
)
def test_unusable_output_path_is_reported(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(CommandError, match=says), written(tmp_path / path) as target:
        target.write(b"rows")


class Left(io.BytesIO):
    """Standard output whose reader has left."""

    @property
    def buffer(self) -> Left:
        return self

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_reader_that_has_left_is_the_callers_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Left())
    with pytest.raises(BrokenPipeError), written(None) as target:
        target.write(b"rows")
