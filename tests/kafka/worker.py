"""``assay run`` in its own process, with its health and memory observed while it works."""

import asyncio
import contextlib
import json
import os
import re
import signal
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

from streams.settings.model import Settings
from tests.kafka.installation import PROGRAM, environment_of
from tests.warm_processes import WARM, warm_processes

_PROBE_SECONDS = 0.2
_ANSWER_SECONDS = 20.0
"""Longer than a busy machine needs for an answer, and less than an input that hangs a worker takes."""


class Probe(NamedTuple):
    """One answer of ``/healthz``; the status is 0 without an answer."""

    status: int
    said: str


class Worker:
    """The process, while the block runs; it is asked for its health all the time, and asked to end at the end."""

    def __init__(self, settings: Settings, *handlers: str, program: str = PROGRAM, **flags: str) -> None:
        """Takes where Kafka is, the handlers, and settings for the environment: ``index__path="…"``."""
        given = {"kafka__create_topics": False, "http__enabled": True, "http__port": 0, "logs__format": "json"}
        given["workers__processes"] = 1
        self._environment = os.environ | environment_of(settings, **given | flags)
        self._command = [WARM, "-c", program, "run", *handlers]
        self._running = asyncio.Event()
        self.lines: list[str] = []
        """What it wrote to standard error."""
        self.probes: list[Probe] = []

    async def __aenter__(self) -> Self:
        with warm_processes():
            self.process = await asyncio.create_subprocess_exec(
                *self._command, env=self._environment, stderr=asyncio.subprocess.PIPE, limit=1 << 24
            )
        self._reading = asyncio.create_task(self._read())
        try:
            async with asyncio.timeout(90):
                await self._running.wait()
                assert self.process.returncode is None, self.lines
                self._client = httpx.AsyncClient(base_url=self._address, trust_env=False, timeout=_ANSWER_SECONDS)
                while (await self._client.get("/readyz")).status_code != 200:  # noqa: ASYNC110 - a process
                    await asyncio.sleep(0.1)
        except BaseException:
            await self._end(signal.SIGKILL)
            raise
        self.rebalances_at_start = await self.rebalances()
        self._probing = asyncio.create_task(self._probe())
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        self._probing.cancel()
        await asyncio.gather(self._probing, return_exceptions=True)
        await self._client.aclose()
        await self._end(signal.SIGTERM if kind is None else signal.SIGKILL)

    @property
    def peak_mib(self) -> int:
        """The most memory that it had so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """Asks its HTTP server."""
        return await self._client.get(path, **options)

    async def rebalances(self) -> float:
        """How often its groups were given partitions."""
        text = (await self.get("/metrics")).text
        return sum(float(count) for count in re.findall(r"^assay_rebalances_total\{.*\} (\S+)$", text, re.MULTILINE))

    async def _read(self) -> None:
        assert self.process.stderr is not None
        try:
            async for line in self.process.stderr:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                with contextlib.suppress(ValueError):
                    told = json.loads(line)
                    if told.get("event") == "running":
                        self._address = f"http://{told['http']}"
                        self._running.set()
        finally:
            self._running.set()

    async def _probe(self) -> None:
        while True:
            try:
                answer = await self.get("/healthz")
                self.probes.append(Probe(answer.status_code, answer.text))
            except httpx.HTTPError as error:
                self.probes.append(Probe(0, repr(error)))
            await asyncio.sleep(_PROBE_SECONDS)

    async def _end(self, how: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(how)
        try:
            await asyncio.wait_for(self.process.wait(), 60)
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            await self._reading
