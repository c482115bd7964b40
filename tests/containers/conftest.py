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
    """Minutes of containers are no part of ``make test``, even where an engine answers."""
    asked = [Path(argument.partition("::")[0]).absolute() for argument in config.invocation_params.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def composition() -> Iterator[Composition]:
    """All services, healthy, in a project and on ports of its own; gone with its volumes when the tests are done."""
    if missing := _missing_engine():
        pytest.skip(f"the containers need {missing}")
    composition = Composition()
    if missing := composition.missing_images():
        pytest.skip(f"the containers need images that are not in the engine and can't be pulled: {', '.join(missing)}")
    try:
        composition.up()
        yield composition
    finally:
        composition.down()


def _missing_engine() -> str | None:
    if shutil.which("docker") is None:
        return "the command docker"
    address = docker_host(os.environ)
    if not docker_answers(address):
        return f"a Docker engine, and none answers at {address}"
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        return "the command docker compose"
    return None
