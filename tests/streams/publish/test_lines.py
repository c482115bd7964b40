import asyncio
import os
from pathlib import Path

import pytest

from streams.publish.lines import read_lines


async def read(descriptor: int, limit: int = 100) -> list[bytes | None]:
    return [line async for line in read_lines(descriptor, limit)]


def piped(*chunks: bytes) -> int:
    """The reading end of a pipe that holds these bytes and is closed at the other end."""
    reading, writing = os.pipe()
    for chunk in chunks:
        os.write(writing, chunk)
    os.close(writing)
    return reading


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"x" * 100 + b"\ny", [b"x" * 100, b"y"]),
        (b"x" * 101 + b"\ny", [None, b"y"]),
        (b"y\n" + b"x" * 60_000, [b"y", None]),
    ],
)
async def test_lines_of_a_pipe_and_of_a_file(tmp_path: Path, content: bytes, lines: list[bytes | None]) -> None:
    pipe = piped(content)
    (tmp_path / "file").write_bytes(content)
    file = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        assert await read(pipe) == lines
        assert await read(file) == lines
    finally:
        os.close(pipe)
        os.close(file)


async def test_line_is_returned_before_the_next_one_is_written() -> None:
    reading, writing = os.pipe()
    lines = read_lines(reading, 100)
    try:
        os.write(writing, b"first\nsec")
        assert await anext(lines) == b"first"
        waiting = asyncio.ensure_future(anext(lines))
        await asyncio.sleep(0)
        assert not waiting.done()
        os.write(writing, b"ond\n")
        assert await waiting == b"second"
        os.close(writing)
        assert [line async for line in lines] == []
    finally:
        os.close(reading)


async def test_waiting_can_be_cancelled() -> None:
    reading, writing = os.pipe()
    try:
        waiting = asyncio.ensure_future(read(reading))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    finally:
        os.close(reading)
        os.close(writing)
