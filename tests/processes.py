"""The processes below a process, as the kernel lists them."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path


def below(pid: int) -> set[int]:
    """Children of a process, and theirs."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text("ascii").split()]
        except FileNotFoundError:
            continue
        for child in children:
            found |= {child} | below(child)
    return found


def marked(variable: str, beginning: str) -> dict[int, str]:
    """The running processes with such a value of a variable in their environment, and that value."""
    found: dict[int, str] = {}
    start = f"{variable}={beginning}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            values = [entry for entry in path.read_bytes().split(b"\0") if entry.startswith(start)]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if values:
            found[int(path.parent.name)] = values[0].decode().partition("=")[2]
    return found


def running(pids: set[int]) -> set[int]:
    """Those that have not ended. A zombie has ended."""
    return {pid for pid in pids if _state(pid) not in ("", "Z", "X")}


async def freezes(pid: int, seconds: float) -> bool:
    """Waits until a process is stopped by SIGSTOP; whether it is."""
    until = time.monotonic() + seconds
    while _state(pid) != "T" and time.monotonic() < until:  # noqa: ASYNC110 - it looks at another process
        await asyncio.sleep(0.02)
    return _state(pid) == "T"


def wait_for_end(pids: set[int], seconds: float) -> set[int]:
    """Waits until processes have ended; returns those that have not."""
    until = time.monotonic() + seconds
    while (left := running(pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


async def end_of(pids: set[int], seconds: float) -> set[int]:
    """``wait_for_end`` beside other work."""
    return await asyncio.to_thread(wait_for_end, pids, seconds)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
