"""``assay learn boilerplate`` on a real Kafka."""

import asyncio
from pathlib import Path

from streams.cli.learn import LearnTask, run_learn
from streams.runtime.settings_files import read_yaml
from streams.settings.model import Settings, load_settings
from streams.topology import PAGES_CRAWLED
from streams.training.boilerplate import Limits
from tests.command_line import Ran
from tests.kafka.installation import Installing
from tests.streams.cli.test_learn import lines


async def fed(installing: Installing) -> Settings:
    assay = await installing()
    await assay.feed([(str(number).encode(), line.encode()) for number, line in enumerate(lines(8))])
    await assay.feed([(b"x", b"no page")])
    return assay.settings


def test_a_topic_is_learned_from(ran: Ran, installing: Installing, tmp_path: Path) -> None:
    task = LearnTask(
        asyncio.run(fed(installing)), PAGES_CRAWLED.name, PAGES_CRAWLED, tmp_path / "learned.json", Limits(), True
    )
    done = ran(run_learn, task)
    assert done.status == 0
    assert (done.document["hosts"], done.document["pages"], done.document["refused"]) == (1, 8, 1)
    assert list(read_yaml(task.out)["page_reading"]["boilerplate"]["hosts"]) == ["shop.example"]


def test_a_topic_that_is_not_there(ran: Ran, kafka: str, topic_prefix: str, tmp_path: Path) -> None:
    settings = load_settings(kafka={"bootstrap_servers": kafka, "topic_prefix": topic_prefix})
    task = LearnTask(settings, PAGES_CRAWLED.name, PAGES_CRAWLED, tmp_path / "learned.json", Limits())
    done = ran(run_learn, task)
    assert (done.status, "`assay topics create` creates it" in done.complaint) == (2, True)
