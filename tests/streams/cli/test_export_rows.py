from __future__ import annotations

import io
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from schemas.pages import ScoredPage
from streams.cli.export import EveryRow, NewestRows
from streams.cli.export_intake import FileError, written
from tests.samples import scored
from tests.tables import tables

TABLES = tables(__file__)


def page(url: str, title: str, fetched_at: str | None = None) -> ScoredPage:
    at = datetime.fromisoformat(fetched_at) if fetched_at else None
    return scored(url, "text").model_copy(update={"title": title, "fetched_at": at})


def titles(rows: bytes) -> list[str]:
    return [line.split("\t")[1] for line in rows.decode().splitlines()]


def test_a_row_for_each_page() -> None:
    target = io.BytesIO()
    rows = EveryRow(target)
    for title in ("one", "two"):
        rows.add(page("https://a.example/", title))
    rows.finish()
    assert (titles(target.getvalue()), rows.count) == (["one", "two"], 2)


@pytest.mark.parametrize(("pages", "kept"), TABLES["export_keeps_the_newest_page_of_each_url"])
def test_export_keeps_the_newest_page_of_each_url(
    pages: tuple[tuple[str, str, str | None], ...], kept: tuple[str, ...]
) -> None:
    target = io.BytesIO()
    rows = NewestRows(target)
    for told in list(pages):
        rows.add(page(*told))
    assert target.getvalue() == b""
    rows.finish()
    assert (titles(target.getvalue()), rows.count) == (list(kept), len(list(kept)))


def test_a_file_is_there_as_a_whole(tmp_path: Path) -> None:
    output = tmp_path / "pages.tsv"
    output.write_text("before")
    with written(output) as target:
        target.write(b"after")
        assert output.read_text() == "before"
    assert output.read_text() == "after"
    assert list(tmp_path.iterdir()) == [output]


def leave(target: BinaryIO, left_by: type[BaseException]) -> None:
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


@pytest.mark.parametrize("name", ["absent/pages.tsv", "."])
def test_unusable_output_path_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match=r"No such file or directory|Is a directory"), written(tmp_path / name):
        pass


def test_full_disk_is_reported() -> None:
    with pytest.raises(FileError, match="No space left"), written(Path("/dev/full")) as target:
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
