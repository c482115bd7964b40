"""Fixtures of the tests on a real broker."""

from functools import partial

import pytest

from streams.settings.model import Settings
from tests.kafka.installation import Installation, Installing, installed


def pytest_itemcollected(item: pytest.Item) -> None:
    """Every test of this folder needs a broker."""
    item.add_marker(pytest.mark.kafka)


@pytest.fixture
def installing(kafka: str, topic_prefix: str) -> Installing:
    """Installs handlers and their topics under a prefix of the test's own."""
    return partial(installed, kafka, topic_prefix)


@pytest.fixture
async def assay(installing: Installing, request: pytest.FixtureRequest) -> Installation:
    """An installation of what the module's ``INSTALLED`` names, else of ``score_page``."""
    return await installing(*getattr(request.module, "INSTALLED", ()))


@pytest.fixture
def settings(assay: Installation) -> Settings:
    """The settings of that installation."""
    return assay.settings
