"""The composition, started once for all tests of this folder. The tests run only if they are requested by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.composition import Composition, what_is_missing

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """They take minutes, so they run only by name: ``make test-containers``."""
    asked = [Path(argument.partition("::")[0]).absolute() for argument in config.invocation_params.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def composition() -> Iterator[Composition]:
    """All services, healthy, in a separate project with separate ports; removed with its volumes after the tests."""
    if missing := what_is_missing():
        pytest.skip(missing)
    composition = Composition()
    try:
        composition.up()
        yield composition
    finally:
        composition.down()
