"""``assay broker``: runs a real Kafka on this machine until Ctrl-C or SIGTERM."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson
from streams.local_kafka.broker import BrokerUnavailable, LocalKafka


def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 9092,
    data: Annotated[Path | None, typer.Option(help="Folder for its data; a temporary one by default.")] = None,
    as_json: AsJson = False,
) -> int:
    """Run a real Apache Kafka on this machine; no Docker needed."""
    return run_broker(port or None, data, as_json=as_json)


def run_broker(port: int | None, data_dir: Path | None, *, as_json: bool) -> int:
    """Runs Kafka on a port of 127.0.0.1, a free one where None; returns 1 if it cannot start, or ends by itself."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        with LocalKafka(port=port, data_dir=data_dir, progress=_tell) as kafka:
            print(_as_json(kafka) if as_json else _as_text(kafka, kept=data_dir is not None), flush=True)
            kafka.wait()
            _tell(f"Kafka ended by itself. The end of its log:\n{kafka.tail()}")
    except BrokerUnavailable as error:
        _tell(f"assay broker: {error}")
    except KeyboardInterrupt:
        return 0
    finally:
        signal.signal(signal.SIGTERM, before)
    return 1


def _as_json(kafka: LocalKafka) -> str:
    return json.dumps(
        {"bootstrap_servers": kafka.bootstrap_servers, "pid": kafka.pid, "data_dir": str(kafka.data_dir)},
        ensure_ascii=False,
    )


def _as_text(kafka: LocalKafka, *, kept: bool) -> str:
    return (
        f"Kafka answers at {kafka.bootstrap_servers} (process {kafka.pid}).\n"
        f"Data and log: {kafka.data_dir} ({'kept' if kept else 'removed at the end'})\n\n"
        f"In another terminal:\n"
        f"  export ASSAY_KAFKA__BOOTSTRAP_SERVERS={kafka.bootstrap_servers}\n\n"
        f"Ctrl-C stops it."
    )


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
