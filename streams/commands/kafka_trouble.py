"""Trouble with Kafka in one line that says what to do, for every command that needs a broker."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine
from typing import Any

from aiokafka.errors import KafkaConnectionError, KafkaError

from streams.settings import Settings
from streams.topic_plan import TopicsError


def run_with_kafka(command: str, settings: Settings, work: Coroutine[Any, Any, int]) -> int:
    """Runs a command's work; expected trouble becomes a line on standard error and exit status 1."""
    # aiokafka logs every failed try of a connection; the line below says it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(work)
    except KafkaConnectionError:
        where = settings.kafka.bootstrap_servers
        tell(command, f"no Kafka at {where}; start one with `assay broker`, or set ASSAY_KAFKA__BOOTSTRAP_SERVERS")
    except TopicsError as error:
        tell(command, str(error))
    except (KafkaError, OSError, ValueError) as error:
        tell(command, f"Kafka at {settings.kafka.bootstrap_servers}: {type(error).__name__}: {error}".strip(": "))
    return 1


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    print(f"assay {command}: {message}", file=sys.stderr, flush=True)
