"""Reads lines of files, plain or gzipped, and of standard input; one line and one block are held at a time.

A blank line and a byte order mark are passed over.
"""

from __future__ import annotations

import asyncio
import codecs
import errno
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple, cast

from schemas.outcome import Dead, DeadReason
from streams.publish.entries import UNREADABLE, explain, opened
from streams.topology import TOPIC_BYTES

LARGEST_LINE = TOPIC_BYTES  # the bytes of the longest line that is read; no topic accepts more
STANDARD_INPUT_PATH = Path("-")
STANDARD_INPUT = 0  # the descriptor of standard input
LARGEST_GAP = 256 * 1024 * 1024
"""The bytes that may follow each other without a line to read; a small gzipped file may have blank lines by the hundred
million, so each counts as ``_BLANK_LINE``."""
_BLANK_LINE = 256
_CHUNK_BYTES = 64 * 1024
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


class Line(NamedTuple):
    """A line of a file or of standard input that is not blank."""

    place: str
    # The line with its end, without a byte order mark; None if it is longer than any topic takes.
    content: bytes | None
    # The bytes of the file up to about its end, compressed as on the disk; 0 for standard input.
    end: int


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, or of standard input for ``-``.

    Raises OSError if the file cannot be read, or is not UTF-8; the error has its name.
    """
    piped = path == STANDARD_INPUT_PATH
    name = "standard input" if piped else str(path)
    try:
        with nullcontext(cast(BufferedReader, sys.stdin.buffer)) if piped else opened(path) as file:
            on_disk = getattr(file, "fileobj", None) or file
            cutter, block = _Cutter(name), b"\n"
            while block:
                # Without waiting for a whole block, for the input may be a terminal.
                block = file.read1(_CHUNK_BYTES)
                for place, line in cutter.lines(block):
                    yield Line(place, line, 0 if piped else on_disk.tell())
    except UNREADABLE as error:
        raise OSError(getattr(error, "errno", None) or errno.EIO, explain(error), name) from None


async def read_piped_lines(descriptor: int) -> AsyncIterator[Line]:
    """The lines of a pipe, terminal, socket or file, with the bytes that were read.

    A blocking read of a pipe would delay the sending of earlier records, and Ctrl-C, until the next line.
    Raises OSError if the descriptor cannot be read, or its text is not UTF-8.
    """
    cutter, end, block = _Cutter("standard input", b""), 0, b"\n"
    while block:
        block = await _read(descriptor)
        end += len(block)
        for place, line in cutter.lines(block):
            yield Line(place, line, end)


def too_long() -> Dead:
    return Dead(DeadReason.TOO_LARGE, f"the line is longer than {LARGEST_LINE} bytes")


class _Cutter:
    """Cuts a text into numbered lines, wherever the limits of its blocks are."""

    def __init__(self, name: str, end: bytes = b"\n") -> None:
        """``end`` is what a line gets back that was cut off at its end."""
        self._name, self._end = name, end
        self._number = self._gap = self._length = 0
        self._held = bytearray()
        self._began = False

    def lines(self, block: bytes) -> Iterator[tuple[str, bytes | None]]:
        """The lines that end in a block, each with its place; an empty block is the end of the text. Raises OSError."""
        if not self._began and (block.startswith(_WIDE) or b"\0" in block[:4]):
            raise OSError(errno.EILSEQ, "it is packed, or not UTF-8; convert UTF-16: iconv -f UTF-16 -t UTF-8")
        self._began = True
        self._gap += len(block)
        if self._gap > LARGEST_GAP:
            found = f"no line to read for long, up to line {self._number + 1}"
            raise OSError(errno.EFBIG, f"{found}; write one event a line, and remove blank lines: grep .")
        *ended, unfinished = block.split(b"\n") if block else (b"", b"")
        for piece in ended:
            self._hold(piece)
            self._number += 1
            text = bytes(self._held).removeprefix(codecs.BOM_UTF8) + (self._end if block else b"")
            line = None if self._length > LARGEST_LINE else text
            if line is not None and not line.strip():
                self._gap += _BLANK_LINE
            else:
                self._gap = len(block)
                yield f"{self._name}:{self._number}", line
            self._held, self._length = bytearray(), 0
        self._hold(unfinished)

    def _hold(self, piece: bytes) -> None:
        self._length += len(piece)
        self._held += piece if self._length <= LARGEST_LINE else b""


async def _read(descriptor: int) -> bytes:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file on a disk is always ready
        return os.read(descriptor, _CHUNK_BYTES)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
