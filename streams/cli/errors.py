"""Runs the Kafka work of commands; trouble becomes one line that says what to do.

Commands import what needs an extra where they use it, so that their help is always there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Coroutine
from typing import Any

from streams.cli.output import tell
from streams.kafka.settings import KafkaSettings
from streams.settings.model import Settings
from streams.workers.template import ChildStartError

_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 4.0, 60.0


class NoTopicError(Exception):
    """The cluster does not have a topic that a command needs, or the topic is empty; the message says what to do."""


def run_with_kafka(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    """Returns what the work returns; 1 after a line on standard error for trouble, 2 for no topic; 130 after Ctrl-C."""
    # aiokafka logs each failed connection attempt; the line below reports it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(_work(command, settings, work))
    except KeyboardInterrupt:
        return 130


async def _work(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    try:
        from aiokafka.errors import KafkaError

        from streams.kafka.topics import TopicsError
        from streams.kafka.trouble import explain_trouble
    except ModuleNotFoundError:
        work.close()
        raise
    # `run` and `top` show it themselves, and `demo` can have a cluster of its own.
    looked_at = settings.kafka.bootstrap_servers and command not in ("run", "top")
    looking = asyncio.create_task(_report_silence(command, settings.kafka)) if looked_at else None
    try:
        return await work
    except BrokenPipeError:
        raise
    except NoTopicError as error:
        return tell(command, str(error), 2)
    except ChildStartError as error:
        return tell(command, str(error), 1)
    except (KafkaError, TopicsError, OSError, ValueError) as error:
        return tell(command, await explain_trouble(error, settings.kafka), 1)
    finally:
        if looking is not None:
            looking.cancel()


async def _report_silence(command: str, kafka: KafkaSettings) -> None:
    """Reports a cluster that does not answer: the clients wait for it for a minute and longer."""
    from streams.kafka.trouble import find_causes

    pause, before = _FIRST_PAUSE_SECONDS, list[str]()
    while True:
        await asyncio.sleep(pause)
        causes = await find_causes(kafka, (), ())
        if causes and causes != before:
            tell(command, f"waiting: {'; '.join(causes)}")
        pause, before = _PAUSE_SECONDS, causes


def stop_on_signals() -> asyncio.Event:
    """An event that the first SIGTERM or Ctrl-C sets; the second ends the process at once with status 1."""
    stop = asyncio.Event()

    def asked() -> None:
        if stop.is_set():
            tell("", "stopping at once; uncommitted records will be processed again")
            os._exit(1)
        stop.set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, asked)
    return stop
