"""Clients, commands and an application on a real Kafka with TLS and SASL, accepted and refused."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from aiokafka.protocol.admin import CreateAclsRequest

from schemas.review import DecisionReviewed, ReviewedDecision
from streams.app.application import Application
from streams.console.app import make_context
from streams.console.reviews import Marks
from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import read_lags
from streams.kafka.topics import create_topics, needed_acls
from streams.kafka.trouble import describe_error, find_causes
from streams.runtime.clock import SystemClock
from streams.settings.model import Settings, load_settings
from streams.topology import HANDLERS, TOPICS
from tests.kafka.installation import CRAWLED, SCORED, Installation, page, scorer, until
from tests.kafka.secured_kafka import MECHANISMS, PROTOCOLS, USERS, SecuredKafka, secured_kafka
from tests.kafka.test_doctor import findings
from tests.samples import run_assay
from tests.tables import tables

pytestmark = pytest.mark.slow

TABLES = tables(__file__)

OPERATIONS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
LITERAL, PREFIXED, ALLOW = 3, 4, 3
PAGE_TOPICS = [topic for topic in TOPICS if topic.name in (CRAWLED, SCORED)]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


def client(secured: SecuredKafka, listener: str, mechanism: str = "PLAIN", **changes: Any) -> dict[str, Any]:
    """The section ``kafka`` of a client that the listener lets in, with changes. Files are those of the folder."""
    protocol = PROTOCOLS[listener]
    section = {"bootstrap_servers": secured.at(listener), "security_protocol": protocol}
    if "SSL" in protocol:
        section["ssl_cafile"] = "authority.pem"
    if listener == "MUTUAL":
        section |= {"ssl_certfile": "client.pem", "ssl_keyfile": "client.key"}
    if "SASL" in protocol:
        section |= {"sasl_mechanism": mechanism, "sasl_username": "assay", "sasl_password": USERS["assay"]}
    section |= changes
    files = {name: str(secured.folder / file) for name, file in section.items() if file and name.endswith("file")}
    return section | files


def settings_of(section: dict[str, Any], prefix: str = "", **flags: Any) -> Settings:
    return load_settings(
        kafka=section | {"topic_prefix": prefix}, http={"enabled": False}, index={"path": None}, **flags
    )


LET_IN = [
    ("TLS", "PLAIN"),
    ("MUTUAL", "PLAIN"),
    *(("SASLTLS", mechanism) for mechanism in MECHANISMS),
    ("SASL", "SCRAM-SHA-256"),
]


@pytest.mark.parametrize(("listener", "mechanism"), LET_IN)
async def test_every_kind_of_client_is_let_in(
    secured: SecuredKafka, topic_prefix: str, listener: str, mechanism: str
) -> None:
    assay = Installation(settings_of(client(secured, listener, mechanism), topic_prefix))
    await create_topics(assay.settings.kafka, PAGE_TOPICS)
    await assay.feed([page(1)])
    await assay.feed([page(2)], transactional=True)
    assert {record.key for record in await assay.read(CRAWLED)} == {page(1)[0], page(2)[0]}
    found = await findings(assay.settings)
    assert found["Kafka"].detail.startswith(f"{secured.at(listener)}, 1 broker, ")
    assert "fail" not in {finding.state for finding in found.values()}


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = TABLES["refused"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs the command line in this process with a section ``kafka`` in the environment; returns its status."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HTTP__ENABLED", "false")
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": "https://a.example/x", "html": "<p>x"}))

    def run(section: dict[str, Any], *arguments: str) -> int:
        for name, value in section.items():
            if value is not None:
                monkeypatch.setenv(f"ASSAY_KAFKA__{name.upper()}", str(value))
        return run_assay(*arguments)

    return run


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_client_says_why_and_what_to_do(
    secured: SecuredKafka, run: Callable[..., int], capsys: pytest.CaptureFixture[str], case: str
) -> None:
    listener, changes, expected = REFUSED[case]
    section = client(secured, listener, **changes)
    assert run(section, "topics", "list") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert re.match(f"assay topics: Kafka at {secured.at(listener)} .*{expected}", line)
    [finding] = asyncio.run(findings(settings_of(section))).values()
    assert (finding.what, finding.state) == ("Kafka", "fail")
    assert re.search(expected, finding.detail)


async def grant(every: Settings, users: dict[str, str], *, without: tuple[str, str, str] | None = None) -> None:
    """Gives each user the rights of an account, but for that operation on resources whose names end so."""
    patterns, numbers = {True: PREFIXED, False: LITERAL}, {"topic": 2, "group": 3, "transactional-id": 5}
    async with opened(make_admin(every.kafka)) as admin:
        for acl in needed_acls(every.kafka):
            where = (numbers[acl.resource], acl.name, patterns[acl.prefixed])
            for operation in acl.operations if acl.account in users else ():
                if without is None or (acl.resource, operation) != without[:2] or not acl.name.endswith(without[2]):
                    principal = f"User:{users[acl.account]}"
                    await admin._send_request(CreateAclsRequest(*where, principal, "*", OPERATIONS[operation], ALLOW))


@pytest.mark.parametrize(("without", "words"), TABLES["without"])
async def test_a_worker_names_the_right_that_it_waits_for(
    secured: SecuredKafka, topic_prefix: str, without: list[str], words: str
) -> None:
    every = settings_of(client(secured, "SASLTLS"), topic_prefix)
    await create_topics(every.kafka, PAGE_TOPICS)
    await Installation(every).feed([page(1)])
    resource, operation, name = without
    await grant(every, {"score_page": "worker"}, without=(resource, operation, name))
    section = client(secured, "SASLTLS", sasl_username="worker", sasl_password=USERS["worker"])
    settings = settings_of(section, topic_prefix)

    async def seen() -> bool:
        return not await find_causes(settings.kafka, [topic_prefix + CRAWLED], [])

    await until(seen)
    application = Application(settings, [scorer()])
    starting = asyncio.create_task(application.start())

    def told() -> bool:
        error = starting.exception() if starting.done() else None
        failed = [describe_error(error, settings.kafka)] if isinstance(error, Exception) else []
        lines = (*application.health.ready().problems, *failed)
        return any(re.search(f"{words}.* do not give the user 'worker' the right", line) for line in lines)

    try:
        await until(told)
    finally:
        starting.cancel()
        await application.stop()


async def test_the_rights_of_topics_acl_are_enough_for_each_account(secured: SecuredKafka, topic_prefix: str) -> None:
    """With exactly its own rights a worker answers, the lag exporter sees it, and a console shows and reviews it."""
    every = settings_of(client(secured, "SASLTLS"), topic_prefix)
    section = client(secured, "SASLTLS", sasl_username="worker", sasl_password=USERS["worker"])
    assay = Installation(settings_of(section, topic_prefix))
    await grant(every, {"topics": "worker", "score_page": "worker", "lag": "stranger", "console": "viewer"})
    await create_topics(assay.settings.kafka)
    await Installation(every).feed(page(number) for number in range(50))
    async with assay.running(scorer()) as application:
        await assay.quiet(application)
    assert len(await Installation(every).read(SCORED)) == 50
    stranger = client(secured, "SASLTLS", sasl_username="stranger", sasl_password=USERS["stranger"])
    lags = await read_lags(settings_of(stranger, topic_prefix).kafka, HANDLERS, SystemClock())
    assert {lag.handler for lag in lags} == {handler.name for handler in HANDLERS}
    assert next(lag.records for lag in lags if lag.handler == "score_page") == 0
    viewer = client(secured, "SASLTLS", sasl_username="viewer", sasl_password=USERS["viewer"])
    console = make_context(settings_of(viewer, topic_prefix))
    following = asyncio.create_task(console.follower.run())
    await until(lambda: console.follower.rebuilt)
    following.cancel()
    assert console.store.count == 50
    await console.flow.look()
    assert console.flow.handlers["score_page"].members == 0
    position = console.store.newest(1)[0].position
    assert await console.records.at(position) is not None
    decision = ReviewedDecision(**asdict(position), handler="score_page", subject="https://site.example/1")
    async with aclosing(Marks(console.settings.kafka)) as marks:
        await marks.write(DecisionReviewed(decision=decision, right=True), console.clock.now())
        assert len(await marks.refresh()) == 1
    await console.resources.aclose()
