"""Runs the Kafka work of commands; trouble becomes one line that says what to do."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from aiokafka.errors import KafkaError

from streams.cli.output import tell
from streams.kafka.topics import TopicsError
from streams.kafka.trouble import explain_trouble
from streams.settings.model import Settings
from streams.workers.template import ChildStartError


class NoTopicError(Exception):
    """The cluster does not have a topic that a command needs; the message says what to do."""


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
        return await work
    except BrokenPipeError:
        raise
    except NoTopicError as error:
        return tell(command, str(error), 2)
    except ChildStartError as error:
        return tell(command, str(error), 1)
    except (KafkaError, TopicsError, OSError, ValueError) as error:
        return tell(command, await explain_trouble(error, settings.kafka), 1)
