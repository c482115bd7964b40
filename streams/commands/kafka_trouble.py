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
    """Runs a command's work.

    Returns:
        What the work returns; 1 for expected trouble, told in a line on standard error; 130 after Ctrl-C.

    Raises:
        BrokenPipeError: Nobody reads standard output any more; how to end then is the caller's business.
    """
    # aiokafka logs every failed try of a connection; the line below says it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    try:
        return asyncio.run(work)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except (KafkaError, TopicsError, OSError, ValueError) as error:
        tell(command, explain_trouble(error, settings))
    return 1


def explain_trouble(error: Exception, settings: Settings) -> str:
    """What went wrong with Kafka, and what to do where that is known."""
    where = settings.kafka.bootstrap_servers
    if isinstance(error, KafkaConnectionError) and settings.kafka.security_protocol != "PLAINTEXT":
        how = settings.kafka.security_protocol
        return (
            f"no Kafka at {where} that takes us in by {how}; see ASSAY_KAFKA__SECURITY_PROTOCOL, __SASL_…, __SSL_CAFILE"
        )
    if isinstance(error, KafkaConnectionError):
        return f"no Kafka at {where}; start one with `assay broker`, or set ASSAY_KAFKA__BOOTSTRAP_SERVERS"
    if isinstance(error, TopicsError):
        return str(error)
    if isinstance(error, FileNotFoundError) and settings.kafka.ssl_cafile is not None:
        return f"{settings.kafka.ssl_cafile} can't be read; see ASSAY_KAFKA__SSL_CAFILE"
    # Kafka's own errors bear their name in their text.
    what = str(error) if isinstance(error, KafkaError) else f"{type(error).__name__}: {error}"
    return f"Kafka at {where}: {' '.join(what.split())}"


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    print(f"assay {command}: {message}", file=sys.stderr, flush=True)
