"""Lines of files, pipes and standard input: limits, blank lines, byte order marks and halves of characters."""

import asyncio
import codecs
import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest

from schemas.pages import CrawledPage
from streams.publish import entries as module
from streams.publish.entries import Line, read_lines, read_piped_lines
from streams.publish.sources import Format, read
from streams.topology import PAGES_CRAWLED

Read = list[tuple[int, bytes | None]]  # the numbers and contents of lines


def number(line: Line) -> int:
    return int(line.place.rpartition(":")[2])


async def read_pipe(descriptor: int) -> Read:
    return [(number(line), line.content) async for line in read_piped_lines(descriptor)]


async def read_all(folder: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> Read:
    """The lines of a text, which are the same in every way of reading it."""
    file, packed = folder / "file", folder / "packed.gz"
    await asyncio.to_thread(file.write_bytes, content)
    await asyncio.to_thread(packed.write_bytes, gzip.compress(content))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = [
        [(number(line), line.content and line.content.removesuffix(b"\n")) for line in read_lines(path)]
        for path in (file, packed, Path("-"))
    ]
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)

    writer = asyncio.create_task(asyncio.to_thread(write))
    opened = os.open(file, os.O_RDONLY)
    found += [await read_pipe(reading), await read_pipe(opened)]
    await writer
    os.close(reading)
    os.close(opened)
    assert found.count(found[0]) == len(found)
    return found[0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a\nb\n", [(1, b"a"), (2, b"b")]),
        (b"a\n\n \r\n\t\nb", [(1, b"a"), (5, b"b")]),
        (b"x" * 100 + b"\ny", [(1, b"x" * 100), (2, b"y")]),
        (b"x" * 101 + b"\ny", [(1, None), (2, b"y")]),
        (b"y\n" + b"x" * 200_000, [(1, b"y"), (2, None)]),
        (b"\n" * 200_001 + b" y\n", [(200_002, b" y")]),
        (codecs.BOM_UTF8 + b"a\n" + codecs.BOM_UTF8 + b"b", [(1, b"a"), (2, b"b")]),
        (codecs.BOM_UTF8 + b"\n\na", [(3, b"a")]),
        (codecs.BOM_UTF8, []),
    ],
)
async def test_lines_are_the_same_in_every_way_of_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, expected: Read
) -> None:
    monkeypatch.setattr(module, "LARGEST_LINE", 100)
    assert await read_all(tmp_path, content, monkeypatch) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
async def test_text_that_is_not_utf8_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    with pytest.raises(OSError, match="iconv"):
        await read_all(tmp_path, "{}".encode(encoding), monkeypatch)


async def test_line_is_returned_before_the_next_one_is_written() -> None:
    reading, writing = os.pipe()
    lines = read_piped_lines(reading)
    try:
        os.write(writing, b"first\nsec")
        assert (await anext(lines)).content == b"first"
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        assert not waiting.done()
        os.write(writing, b"ond\n")
        assert (await waiting).content == b"second"
        os.close(writing)
        assert [line async for line in lines] == []
    finally:
        os.close(reading)


async def test_waiting_can_be_cancelled() -> None:
    reading, writing = os.pipe()
    try:
        waiting = asyncio.ensure_future(read_pipe(reading))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    finally:
        os.close(reading)
        os.close(writing)


HALF = "a\ud83d b\udc00 \U0001f600"
URL = "https://a.example/" + HALF[:2]
METADATA = {"schema_type": HALF}
PAGE = {"url": URL, "title": HALF, "content": "text", "quality_metadata": METADATA}
ROW = f"{URL}\t{HALF}\ttext\t\t{json.dumps(METADATA)}"


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (json.dumps(PAGE).encode(), "jsonl"),
        (json.dumps(PAGE, ensure_ascii=False).encode("utf-8", "surrogatepass"), "jsonl"),
        (ROW.encode("utf-8", "surrogatepass"), "tsv"),
        (ROW.replace("\\", "\\\\").encode("utf-8", "surrogatepass"), "tsv"),
    ],
    ids=["JSON, escaped", "JSON, as bytes", "TSV", "TSV, escaped"],
)
def test_halves_of_characters_are_replaced(tmp_path: Path, line: bytes, written: Format) -> None:
    (tmp_path / "file").write_bytes(codecs.BOM_UTF8 + line)
    [entry] = read(tmp_path / "file", PAGES_CRAWLED, written)
    page = entry.event()
    assert isinstance(page, CrawledPage)
    assert page.url == "https://a.example/a\ufffd"
    assert (page.title or "").replace("\ufffd\ufffd\ufffd", "\ufffd") == "a\ufffd b\ufffd \U0001f600"
    assert page.quality_metadata is not None
    assert page.quality_metadata.schema_type == "a\ufffd b\ufffd \U0001f600"
