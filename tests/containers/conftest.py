"""The composition, brought up once for all tests of this folder, which run only when they are asked for by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.composition import Composition
from tests.kafka_server import docker_answers, docker_host

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They take minutes, so they run only by name: ``make test-containers``."""
    asked = [Path(argument.partition("::")[0]).absolute() for argument in config.invocation_params.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def composition() -> Iterator[Composition]:
    """All services, healthy, in a project and on ports of its own; gone with its volumes when the tests are done."""
    if missing := _missing():
        pytest.skip(missing)
    composition = Composition()
    try:
        composition.up()
        yield composition
    finally:
        composition.down()


def _missing() -> str | None:
    if shutil.which("docker") is None:
        return "there is no docker command"
    address = docker_host(os.environ)
    if not docker_answers(address):
        return f"no Docker engine answers at {address}"
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        return "docker has no compose command"
    return None
