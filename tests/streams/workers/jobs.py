"""What the children of these tests run: a job names what happens to it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from streams.workers.child import Work


def make_work() -> Work:
    """The work of a child; its jobs are pairs of a deed and a value."""
    return _work


def make_no_work() -> Work:
    """Fails at the start of a child."""
    raise OSError("the disk is full")


def _work(job: tuple[str, Any]) -> Any:
    deed, value = job
    match deed:
        case "pid":
            return os.getpid()
        case "burn":
            while True:
                value += 1
        case "sleep":
            time.sleep(value)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "crash once" | "stop once":
            if not os.path.exists(value):
                open(value, "w").close()
                os.kill(os.getpid(), signal.SIGKILL if deed == "crash once" else signal.SIGSTOP)
        case "sleep, then return much":
            time.sleep(value)
            return bytes(9_000_000)
        case "wait, then crash, then return":
            with open(value, "a") as file:
                file.write("x")
            match os.path.getsize(value):
                case 1:
                    time.sleep(60)
                case 2:
                    os.kill(os.getpid(), signal.SIGKILL)
        case "take memory":
            return len(bytearray(value))
        case "mark":
            open(value, "w").close()
        case "raise":
            raise ValueError(value)
    return value
