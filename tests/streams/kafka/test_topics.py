"""The planned topics, and the rights of accounts on them."""

import json
from functools import cache

import pytest

from schemas.dead import dead_letter_topic
from streams.cli.commands import run_command_line
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import Acl, needed_acls, plan_topics
from streams.settings.model import load_settings
from streams.topology import DEAD_LETTER_BYTES, HANDLERS, TOPIC_BYTES, TOPICS, Handler


def test_plan_has_event_retry_and_dead_letter_topics() -> None:
    settings = load_settings(kafka={"topic_prefix": "blue.", "replication_factor": 3})
    plan = {topic.name: topic for topic in plan_topics(settings.kafka)}
    assert len(plan) == len(TOPICS) + len(HANDLERS) + sum(len(handler.retry_topics) for handler in HANDLERS)
    for topic in TOPICS:
        planned = plan[f"blue.{topic.name}"]
        assert (planned.partitions, planned.replication) == (topic.partitions, 3)
        assert planned.config["max.message.bytes"] == str(TOPIC_BYTES)
        kept = ("compact", "-1") if topic.compacted else ("delete", str(7 * 86_400_000))
        assert (planned.config["cleanup.policy"], planned.config["retention.ms"]) == kept
    for handler in HANDLERS:
        planned = plan[f"blue.{dead_letter_topic(handler.consumes.name, handler.group)}"]
        assert planned.partitions == handler.consumes.partitions
        assert planned.config["max.message.bytes"] == str(DEAD_LETTER_BYTES)
        assert planned.config["retention.ms"] == str(30 * 86_400_000)
        for tier in handler.retry_topics:
            assert plan[f"blue.{tier.topic}"].config["max.message.bytes"] == str(DEAD_LETTER_BYTES)
    assert {t.config["compression.type"] for t in plan.values()} == {"producer"}
    assert [t.name for t in plan.values() if t.config["cleanup.policy"] != "delete"] == ["blue.replays.v1"]


@cache
def acls() -> list[Acl]:
    return list(needed_acls(KafkaSettings(topic_prefix="team.")))


def rights(account: str, resource: str) -> dict[str, Acl]:
    return {acl.name: acl for acl in acls() if (acl.account, acl.resource) == (account, resource)}


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: handler.name)
def test_a_worker_writes_only_what_its_handler_emits(handler: Handler) -> None:
    topics = rights(handler.name, "topic")
    retries = {f"team.{retry.topic}" for retry in handler.retry_topics}
    read = {name for name, acl in topics.items() if "Read" in acl.operations}
    written = {name for name, acl in topics.items() if "Write" in acl.operations}
    dead = f"team.{dead_letter_topic(handler.consumes.name, handler.group)}"
    assert read == {f"team.{handler.consumes.name}"} | retries
    assert written == {f"team.{topic.name}" for topic in handler.emits} | retries | {dead}
    assert all("Create" not in acl.operations and "Describe" in acl.operations for acl in topics.values())
    groups = {f"team.{handler.group}", *(f"team.{retry.group}" for retry in handler.retry_topics)}
    assert set(rights(handler.name, "group")) == groups
    [(name, acl)] = rights(handler.name, "transactional-id").items()
    assert (name, acl.prefixed) == (f"team.{handler.group}.", True)


def test_accounts_have_own_transactional_ids_and_one_creates() -> None:
    prefixes = [acl.name for acl in acls() if acl.resource == "transactional-id"]
    assert not [(one, other) for one in prefixes for other in prefixes if one != other and one.startswith(other)]
    assert {acl.account for acl in acls() if "Create" in acl.operations} == {"topics"}


def test_the_command_prints_rows_json_and_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_KAFKA__BOOTSTRAP_SERVERS", "broker:9092")
    assert run_command_line(["topics", "acl"]) == 0
    assert "User:score_page\ttransactional-id\tassay.score_page.*\tWrite, Describe" in capsys.readouterr().out
    assert run_command_line(["topics", "acl", "--json", "--principal", "User:CN=assay-{}"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["acls"]) == len(acls())
    assert document["acls"][0]["principal"] == "User:CN=assay-score_page"
    assert run_command_line(["topics", "acl", "--commands"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        "kafka-acls.sh --bootstrap-server broker:9092 --add --allow-principal User:score_page --operation Write "
        "--operation Describe --transactional-id assay.score_page. --resource-pattern-type prefixed"
    ) in lines
