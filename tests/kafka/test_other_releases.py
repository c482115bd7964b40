"""Other releases of Kafka than the local one: the most important tests of this folder run on them too."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from streams.local_kafka import install
from streams.local_kafka.broker import BrokerUnavailable, LocalKafka
from streams.topology import REPLAYS
from tests.kafka.installation import CRAWLED, SCORED, Installing, page
from tests.kafka.replays import replayed
from tests.kafka.test_dlq import test_original_bytes_and_headers_come_back  # noqa: F401
from tests.kafka.test_doctor import findings
from tests.kafka.test_lag import test_caught_up_group_has_no_lag_behind_transaction_markers  # noqa: F401
from tests.kafka.test_late_offsets import test_late_commit_of_a_replaced_producer_is_refused  # noqa: F401
from tests.kafka.test_pipeline import (  # noqa: F401
    test_a_zombie_is_fenced,
    test_an_output_that_the_broker_refuses_becomes_a_dead_letter,
    test_every_record_is_handled_once,
    test_failed_commit_repeats_outputs_under_the_same_ids,
    test_records_of_a_key_keep_their_order,
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(install, "ENDPOINT", install.ENDPOINT.replace(install.KAFKA_VERSION, release))
        patch.setattr(install, "KAFKA_VERSION", release)
        patch.setattr(install, "CHECKSUMS", _CHECKSUMS / f"jars-{release}.sha256")
        try:
            install.kafka_jars(install.cache_folder(), print)
        except BrokerUnavailable as error:
            pytest.skip(str(error))
        with LocalKafka() as broker:
            yield broker.bootstrap_servers


async def test_the_doctor_finds_a_healthy_installation(installing: Installing, release: str) -> None:
    assay = await installing()
    found = await findings(assay.settings)
    assert found["Kafka"].state == found["transactions"].state == "ok"
    assert RELEASES[release] in found["Kafka"].detail


async def test_a_replay_reads_every_page_again(installing: Installing) -> None:
    assay = await installing(topics=[REPLAYS])
    await assay.feed(page(number) for number in range(50))
    done = await replayed(assay.settings, "score_page")
    assert done.state == "finished"
    assert len(await assay.read(f"{SCORED}.replay.again")) == len(await assay.read(CRAWLED)) == 50
