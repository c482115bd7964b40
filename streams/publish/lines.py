"""Lines of a pipe or terminal as they come, without holding up the event loop while none come.

A blocking read would keep what was already read from being sent, and Ctrl-C from being heard, until the next line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

STANDARD_INPUT = 0
"""The descriptor of standard input."""
_CHUNK_BYTES = 64 * 1024


async def read_lines(descriptor: int, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of a descriptor, without their ends.

    Args:
        descriptor: Of a pipe, a terminal, a socket or a file.
        limit: Bytes of a line at most; for a longer one None comes, and it is passed over without being held.

    Raises:
        OSError: It can't be read.
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
    except PermissionError:  # a file on a disk can't be waited for, and need not be
        return os.read(descriptor, _CHUNK_BYTES)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, _CHUNK_BYTES)
