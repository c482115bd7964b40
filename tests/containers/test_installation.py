"""The composition after ``make up``: healthy, sealed, reachable from outside, and monitored."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from streams.generate.templates import service_name
from streams.telemetry.metrics import Metrics
from streams.topology import HANDLERS
from tests.containers.composition import Composition
from tests.kafka.installation import CRAWLED, SCORED, page, until

pytestmark = pytest.mark.timeout(1200)
WORKERS = [service_name(handler) for handler in HANDLERS]
SCRAPED = [*WORKERS, "lag"]


@pytest.mark.parametrize("service", SCRAPED)
def test_ours_can_neither_write_nor_become_more(composition: Composition, service: str) -> None:
    [container] = composition.containers(service)
    status = composition.run(["docker", "exec", container, "cat", "/proc/1/status"])
    facts = dict(line.split(":\t", 1) for line in status.splitlines())
    assert facts["Uid"].split() == ["10001"] * 4
    assert facts["NoNewPrivs"] == "1"
    assert {int(facts[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")} == {0}
    host = composition.inspect(container)["HostConfig"]
    assert host["ReadonlyRootfs"]
    assert host["Memory"] == 1024**3
    assert host["PidsLimit"] == 256


async def test_scraped_metrics_show_a_page_fed_from_outside(composition: Composition) -> None:
    installation = composition.installation()
    key, value = page(1)
    await installation.feed([(key, value)])

    async def answered() -> bool:
        return key in {record.key for record in await installation.read(SCORED)}

    await until(answered)
    seen = f'{Metrics.handler_events_total.name}{{handler="score_page",outcome="emit"}} > 0'
    await until(lambda: composition.query(seen), seconds=90)


async def test_prometheus_finds_every_worker_and_the_lag_of_groups(composition: Composition) -> None:
    def up() -> set[Any]:
        return {series["metric"].get("service") for series in composition.query("up == 1")}

    await until(lambda: set(SCRAPED) <= up(), seconds=90)
    await until(lambda: composition.query(f"{Metrics.group_lag_records.name} >= 0"), seconds=90)
    handlers = {series["metric"]["handler"] for series in composition.query(f"{Metrics.group_lag_records.name} >= 0")}
    assert handlers == {handler.name for handler in HANDLERS}


async def test_a_replay_writes_to_a_topic_of_its_own_and_is_scraped(composition: Composition) -> None:
    installation = composition.installation()
    await installation.feed([page(number) for number in range(1000, 1300)])
    command = ["docker", "compose", "run", "--rm", "-T", "--use-aliases", "replay", "run", "score_page"]
    # Slow enough that Prometheus, which looks every 15 s, sees it.
    options = ["--from", "earliest", "--plan", "again", "--rate", "8", "--no-give-way", "--http", "--json"]
    running = asyncio.create_task(asyncio.to_thread(composition.run, [*command, *options], 300))
    seen = f'{Metrics.replay_records_total.name}{{handler="score_page",outcome="replayed"}} > 0'
    await until(lambda: composition.query(seen), seconds=120)
    told = json.loads((await running).splitlines()[-1])
    assert told["state"] == "finished"
    pages = {record.key for record in await installation.read(CRAWLED)}
    assert told["replayed"] == len(pages) >= 300
    replayed = [record.key for record in await installation.read(f"{SCORED}.replay.again")]
    assert Counter(replayed) == Counter(pages)
