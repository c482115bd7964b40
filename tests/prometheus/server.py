"""A real Prometheus on loopback with the generated configuration; only its targets and its interval differ.

with Prometheus(folder, {"assay": {"score-page": "127.0.0.1:8080"}}) as server:
    server.query("up", at=time.time())
"""

import contextlib
import random
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import yaml

from streams.generate.prometheus import FOLDER
from tests.samples import ROOT

EVERY = "1s"
SCRAPE = "2s"
"""How often, and for how long at most: on a starved machine a target that asks Kafka takes more than a second."""
WINDOW = "15m"
"""Longer than anything that is looked at."""
_PATIENCE_SECONDS = 120.0
_PORTS = range(10_000, 20_000)
"""Not those that are handed out to outgoing connections, of which one could take a port before it is listened on; nor
those of the brokers."""
_VARIABLES = {"$__rate_interval": WINDOW, "$__range": WINDOW, "$handler": ".*"}


@dataclass(frozen=True)
class Sample:
    """One value of an answer, with its labels."""

    labels: Mapping[str, str]
    value: float


class Prometheus:
    """Prometheus as a child process, for as long as the block runs."""

    def __init__(self, folder: Path, targets: Mapping[str, Mapping[str, str]]) -> None:
        """Takes a folder for its files, and addresses by job and service."""
        self._folder = folder
        self._targets = targets
        self._process: subprocess.Popen[bytes] | None = None
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{free_port()}", trust_env=False, timeout=30.0)

    def __enter__(self) -> Self:
        """Starts it and waits until it answers."""
        shutil.copytree(ROOT / FOLDER, self._folder, dirs_exist_ok=True)
        (self._folder / "prometheus.yml").write_text(yaml.safe_dump(self._configuration()), "utf-8")
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={self._folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address={self._http.base_url.host}:{self._http.base_url.port}",
                    "--log.level=warn",
                ],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._end()
                raise RuntimeError(f"Prometheus did not start: {(self._folder / 'log').read_text('utf-8')}")
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it."""
        self._end()

    def query(self, expression: str, at: float) -> list[Sample]:
        """The values of an expression at a time, with Grafana's variables filled in and without NaN.

        Raises:
            ValueError: Prometheus can't make sense of it.
        """
        found = self._ask("query", {"query": filled(expression), "time": at})
        if found["resultType"] == "scalar":
            return [Sample({}, float(found["result"][1]))]
        samples = [Sample(each["metric"], float(each["value"][1])) for each in found["result"]]
        return [sample for sample in samples if sample.value == sample.value]


    def rules(self) -> list[dict[str, Any]]:
        """All rules, with their health."""
        return [rule for group in self._ask("rules", {})["groups"] for rule in group["rules"]]

    def wait_until_up(self, *jobs: str) -> None:
        """Waits until every target of the jobs has been scraped in a scrape that began after this."""
        deadline, began = time.monotonic() + _PATIENCE_SECONDS, time.time()
        targets = sum(len(self._targets[job]) for job in jobs)
        up = f'up{{job=~"{"|".join(jobs)}"}}'
        while len(self.query(f"timestamp({up}) > {began} and {up} == 1", time.time())) < targets:
            if time.monotonic() > deadline:
                raise TimeoutError(f"targets of {jobs} don't answer")
            time.sleep(0.2)

    def _configuration(self) -> dict[str, Any]:
        content: dict[str, Any] = yaml.safe_load((ROOT / FOLDER / "prometheus.yml").read_text("utf-8"))
        content["global"] = {"scrape_interval": SCRAPE, "scrape_timeout": SCRAPE, "evaluation_interval": EVERY}
        jobs = [job for job in content["scrape_configs"] if job["job_name"] in self._targets]
        assert len(jobs) == len(self._targets)
        for job in jobs:
            del job["dns_sd_configs"], job["relabel_configs"]
            job["static_configs"] = [
                {"targets": [address], "labels": {"service": service}}
                for service, address in self._targets[job["job_name"]].items()
            ]
        return content | {"scrape_configs": jobs}

    def _ask(self, what: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        answer = self._http.get(f"/api/v1/{what}", params=dict(parameters)).json()
        if answer["status"] != "success":
            raise ValueError(f"{answer['error']}: {parameters.get('query')}")
        data: dict[str, Any] = answer["data"]
        return data

    def _answers(self) -> bool:
        try:
            return self._http.get("/-/ready").status_code == 200
        except httpx.TransportError:
            return False

    def _end(self) -> None:
        self._http.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_PATIENCE_SECONDS)


def filled(expression: str) -> str:
    """An expression with Grafana's variables filled in: all handlers, the whole time."""
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    assert not re.search(r"\$\w", expression), f"a variable that nobody fills in: {expression}"
    return expression


def free_port() -> int:
    """A free port of this machine."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"every port from {_PORTS.start} to {_PORTS.stop - 1} is taken")
