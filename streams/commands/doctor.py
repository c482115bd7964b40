"""``assay doctor``: looks whether everything that Assay needs is there, and says what to do where it is not."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from aiokafka.errors import KafkaError
from rich.console import Console
from rich.text import Text

from streams.broker import BrokerUnavailable
from streams.broker_files import cache_folder, find_java
from streams.settings import Settings
from streams.topic_plan import find_differences

_ENOUGH_BYTES = 1024**3
_MARKS: dict[str, tuple[str, str]] = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: Literal["ok", "warn", "fail"]
    detail: str


def run_doctor(settings: Settings, as_json: bool) -> int:
    """Looks at Python, Java, Kafka and its topics, the HTTP port, and the disk.

    Returns:
        0 where nothing failed; warnings are allowed. 1 otherwise.
    """
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    findings = [
        _python(),
        Finding("configuration", "ok", "every key is known and valid"),
        _java(),
        *asyncio.run(_kafka(settings)),
        _port(settings),
        _disk(Path.cwd(), "working directory"),
        _disk(cache_folder(), "cache"),
    ]
    if as_json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}, ensure_ascii=False))
    else:
        console = Console(highlight=False, soft_wrap=True)
        for finding in findings:
            mark, style = _MARKS[finding.state]
            console.print(Text.assemble((f"{mark} ", style), (f"{finding.what}: ", "bold"), finding.detail))
    return 1 if any(finding.state == "fail" for finding in findings) else 0


def _python() -> Finding:
    return Finding("Python", "ok", ".".join(str(part) for part in sys.version_info[:3]))


def _java() -> Finding:
    """Only the local broker needs it."""
    try:
        return Finding("Java", "ok", str(find_java()))
    except BrokerUnavailable as error:
        return Finding("Java", "warn", f"{error} (only `assay broker` and `assay demo` need it)")


async def _kafka(settings: Settings) -> list[Finding]:
    where = settings.kafka.bootstrap_servers
    if not where:
        return [Finding("Kafka", "warn", "none is named; set ASSAY_KAFKA__BOOTSTRAP_SERVERS, or start `assay broker`")]
    try:
        async with asyncio.timeout(15):
            differences = await find_differences(settings)
    except (KafkaError, OSError, ValueError) as error:
        return [Finding("Kafka", "fail", f"no answer from {where}: {type(error).__name__}; is it running, and right?")]
    found = [Finding("Kafka", "ok", where)]
    missing = [difference.topic for difference in differences if difference.what == "topic"]
    others = len(differences) - len(missing)
    if missing:
        found.append(Finding("topics", "warn", f"{len(missing)} missing; `assay topics create` makes them"))
    if others:
        found.append(Finding("topics", "warn", f"{others} differences from what is declared; see `assay topics diff`"))
    return found if differences else [*found, Finding("topics", "ok", "as declared")]


def _port(settings: Settings) -> Finding:
    http = settings.http
    if not http.enabled or http.port == 0:
        return Finding("HTTP port", "ok", "none needed" if not http.enabled else "any free one")
    try:
        socket.create_server((http.host, http.port)).close()
    except OSError as error:
        return Finding("HTTP port", "warn", f"{http.host}:{http.port}: {error.strerror}; set ASSAY_HTTP__PORT")
    return Finding("HTTP port", "ok", f"{http.host}:{http.port} is free")


def _disk(folder: Path, what: str) -> Finding:
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < _ENOUGH_BYTES:
        return Finding(what, "fail", f"{free // 1024**2} MB free at {existing}; 1 GB or more is wanted")
    return Finding(what, "ok", f"{free // 1024**3} GB free")
