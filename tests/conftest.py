"""Fixtures that every test may ask for: one Kafka a run, and names of its own for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.kafka_server import kafka_server


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """Bootstrap servers of a real Kafka. Topics are not created by themselves; see ``topic_prefix``."""
    with kafka_server() as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def topic_prefix() -> str:
    """A prefix that no other test uses, such as ``t3f9a1c07b2d.``, for topics, groups and transactional ids."""
    return f"t{uuid.uuid4().hex[:11]}."
