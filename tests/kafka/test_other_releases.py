"""Other releases of Kafka than the local one: the most important tests of this folder run on them too."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from streams.cli.doctor_kafka import check_kafka
from streams.local_kafka.broker import LocalKafka
from tests.kafka.installation import Installing
from tests.kafka.test_at_least_once import test_failed_commit_repeats_outputs_under_the_same_ids  # noqa: F401
from tests.kafka.test_dlq import *  # noqa: F403
from tests.kafka.test_late_commit import proxy, test_late_commit_of_a_replaced_producer_is_refused  # noqa: F401
from tests.kafka.test_pipeline import *  # noqa: F403
from tests.kafka.test_replay import (  # noqa: F401
    test_backfill_writes_what_live_traffic_wrote,
    test_stopped_plan_resumes_without_repeats,
)
from tests.kafka.test_retries import test_a_restart_in_between_neither_loses_nor_doubles_a_retry  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_CHECKSUMS = Path(__file__).with_name("releases")
"""One file for each release, as of ``sha256sum *.jar``."""
RELEASES = {"3.9.1": "version 3.9", "4.2.0": "version 4.0 or newer"}
"""The last release with brokers of before 4.0, and the one after the local Kafka; what the doctor says of each."""


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return cast(str, request.param)


@pytest.fixture(scope="module")
def kafka(release: str) -> Iterator[str]:
    """A broker of that release, in place of the shared one."""
    with LocalKafka(version=release, checksums=_CHECKSUMS / f"jars-{release}.sha256") as broker:
        yield broker.bootstrap_servers


async def test_the_doctor_finds_a_healthy_installation(installing: Installing, release: str) -> None:
    assay = await installing()
    found = {finding.what: finding for finding in await asyncio.to_thread(lambda: list(check_kafka(assay.settings)))}
    assert found["Kafka"].state == found["transactions"].state == "ok"
    assert RELEASES[release] in found["Kafka"].detail
