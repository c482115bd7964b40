"""Reads lines of bounded length: of a file, and of a pipe or terminal without blocking the event loop.

A blocking read of a pipe would delay the sending of earlier records, and Ctrl-C, until the next line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from typing import IO

STANDARD_INPUT = 0
"""The descriptor of standard input."""
_CHUNK_BYTES = 64 * 1024


def lines_of(file: IO[bytes], limit: int) -> Iterator[bytes | int]:
    """The lines of a file, with their ends; the size of a line that is longer than the limit in bytes."""
    while line := file.readline(limit + 1):
        if len(line) <= limit or line.endswith(b"\n"):
            yield line
            continue
        size = 0
        while line and not line.endswith(b"\n"):
            size += len(line)
            line = file.readline(limit)
        yield size + len(line)


async def read_lines(descriptor: int, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of a pipe, terminal, socket or file, without their ends; None for one longer than the limit in bytes.

    Raises:
        OSError: The descriptor cannot be read.
    """
    held = bytearray()
    too_long = False
    while chunk := await _read(descriptor):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            held += chunk[start:end]
            yield None if too_long or len(held) > limit else bytes(held)
            held.clear()
            too_long, start = False, end + 1
        held += chunk[start:]
        if len(held) > limit:
            held.clear()
            too_long = True
    if held or too_long:
        yield None if too_long else bytes(held)


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
