"""The composition under a test's control: ``docker compose`` and ``make`` with their own project and ports."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.parse
import urllib.request
from typing import Any

from streams.settings.model import Settings
from tests.kafka.installation import Installation, install
from tests.kafka_server import docker_answers, docker_host
from tests.samples import ROOT

PROJECT = "assay-test"
UP_SECONDS = 900.0
"""With the build of the image, on a machine that is busy."""


class Composition:
    """One running composition.

    Attributes:
        environment: Of ``docker compose`` and ``make``. The caller of the tests can name images in it.
    """

    def __init__(self) -> None:
        kafka, prometheus, *others = _free_ports(4)
        self.prometheus = f"http://127.0.0.1:{prometheus}"
        self.bootstrap_servers = f"127.0.0.1:{kafka}"
        profiles = os.environ.get("COMPOSE_PROFILES", "")
        self.environment = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": PROJECT,
            "ASSAY_IMAGE": "assay:test",
            "KAFKA_HOST": "127.0.0.1",
            "KAFKA_PORT": str(kafka),
            "PROMETHEUS_PORT": str(prometheus),
            "QDRANT_PORT": str(others[0]),
            "GRAFANA_PORT": str(others[1]),
        }
        if "qdrant" not in profiles.split(","):
            # Then each index worker has a separate index.
            self.environment["QDRANT_URL"] = ""

    def up(self) -> None:
        """Builds the image and starts everything; returns when all is healthy."""
        self.compose("build", "topics", seconds=UP_SECONDS)
        self.compose("up", "--detach", "--wait", seconds=UP_SECONDS)

    def down(self) -> None:
        """Stops everything and removes the volumes."""
        self.compose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5", seconds=UP_SECONDS)

    def compose(self, *arguments: str, seconds: float = 180.0) -> str:
        """What ``docker compose`` said; with everything it said where it failed."""
        return self.run(["docker", "compose", *arguments], seconds)

    def run(self, command: list[str], seconds: float = 180.0) -> str:
        """Runs a command in the checkout with the composition's environment."""
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}\n{self.complaints()}"
        return done.stdout

    def complaints(self) -> str:
        """The last lines of services that are not well."""
        listed = ["docker", "compose", "ps", "--all", "--format", "json"]
        shown = subprocess.run(listed, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        services = [json.loads(line) for line in shown.stdout.splitlines()]
        ill = {its["Service"] for its in services if its["Health"] == "unhealthy" or its["ExitCode"]}
        if not ill:
            return ""
        logs = ["docker", "compose", "logs", "--tail", "20", *sorted(ill)]
        return subprocess.run(logs, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False).stdout

    def containers(self, service: str) -> list[str]:
        """The ids of the containers of a service that run."""
        return self.compose("ps", "--quiet", service).split()

    def inspect(self, container: str) -> dict[str, Any]:
        """What the engine knows of a container."""
        [found] = json.loads(self.run(["docker", "inspect", container]))
        return dict(found)

    def scale(self, service: str, replicas: int) -> None:
        """Brings a service to so many containers, all healthy."""
        self.compose(
            "up", "--detach", "--wait", "--no-deps", "--no-recreate", "--scale", f"{service}={replicas}", service
        )

    def installation(self) -> Installation:
        """Its topics, to be written to and read from outside."""
        return Installation(self.settings())

    def settings(self) -> Settings:
        """Of a program outside the containers."""
        return install(self.bootstrap_servers, "")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression, as the composition's Prometheus sees it now."""
        parameters = urllib.parse.urlencode({"query": expression})
        address = f"{self.prometheus}/api/v1/query?{parameters}"
        with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - a port of this machine
            return list(json.load(answer)["data"]["result"])


def what_is_missing() -> str:
    """What the containers need and this machine does not have, images included; "" for nothing."""
    if shutil.which("docker") is None:
        return "there is no command docker"
    address = docker_host(os.environ)
    if not docker_answers(address):
        return f"no Docker engine answers at {address}"
    listed = subprocess.run(["docker", "compose", "config", "--images"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        return f"docker compose does not read the composition: {listed.stderr.decode().strip()}"
    base = re.search(r"^ARG PYTHON_IMAGE=(\S+)", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert base is not None
    images = {os.environ.get("PYTHON_IMAGE") or base[1], *listed.stdout.decode().split()}
    # Assay's own image is built.
    others = sorted(image for image in images if image != os.environ.get("ASSAY_IMAGE", "assay:local"))
    absent = [image for image in others if not (_succeeds("inspect", image) or _succeeds("pull", image))]
    return f"images that can't be pulled: {', '.join(absent)}" if absent else ""


def _succeeds(action: str, image: str) -> bool:
    done = subprocess.run(["docker", "image", action, image], capture_output=True, check=False, timeout=UP_SECONDS)
    return done.returncode == 0


def _free_ports(count: int) -> list[int]:
    """Free ports, all of them different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


if __name__ == "__main__":
    sys.exit(what_is_missing() or None)
