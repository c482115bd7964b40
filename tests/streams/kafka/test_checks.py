"""The checks of Kafka: without a broker, and for given lags, settings of brokers and decisions."""

import socket
from datetime import UTC, datetime

import pytest

from streams.kafka import checks
from streams.kafka.checks import check_kafka, judge_groups, judge_retention, judge_versions
from streams.kafka.groups import GroupLag, PartitionLag
from streams.kafka.lookups import Decision, LatestDecisions
from streams.kafka.settings import KafkaSettings
from streams.runtime.checks import Check
from streams.topology import HANDLERS
from tests.tables import tables

TABLES = tables(__file__)

DAY = 86400.0


def lag(
    handler: str = "score_page", records: int = 0, seconds: float = 0.0, members: int = 1, delay: int = 0
) -> GroupLag:
    left = 7 * DAY - seconds if records else None
    return GroupLag(handler, "t", "g", True, records, seconds, left, members, delay_seconds=delay)


def found(address: str, *, named: bool = False) -> list[Check]:
    return list(check_kafka(KafkaSettings(bootstrap_servers=address), lambda _: "", named=named))


def test_missing_kafka_is_reported_with_a_remedy() -> None:
    [finding] = found("127.0.0.1:1", named=True)
    assert finding.state == "fail"
    assert "assay broker" in finding.detail


def test_the_default_address_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = found("127.0.0.1:1")
    assert (finding.state, finding.detail) == ("warn", "none at 127.0.0.1:1, the default address")
    assert "assay broker --detach" in finding.todo
    monkeypatch.setattr(checks, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        [finding] = found(where)
    assert (finding.state, where in finding.detail, "did not answer within" in finding.detail) == ("fail", True, True)


def test_stopped_and_late_groups_are_reported() -> None:
    [well] = judge_groups([lag(), lag("index_page", records=5, seconds=90), lag("fetch_page", members=0)])
    assert (well.state, well.detail) == ("ok", f"2 of {len(HANDLERS)} handlers run, no handler is behind")
    [stopped] = judge_groups([lag(records=1, members=0), lag("index_page")])
    assert (stopped.state, stopped.todo) == ("warn", "`assay run score_page`")
    [late] = judge_groups([lag(records=7, seconds=90)])
    assert late.detail == "score_page is 90 s behind (7 records), 60 s are promised"
    # A record in a retry topic is late only beyond its delay.
    [well] = judge_groups([lag("index_page", records=7, seconds=650, delay=600)])
    assert well.state == "ok"


def test_retention_losses_are_reported() -> None:
    assert list(judge_retention([lag(), lag(records=5, seconds=5 * DAY)])) == []
    [near] = judge_retention([lag(records=5, seconds=6 * DAY)])
    assert (near.state, near.detail) == ("fail", "unread records of t may be deleted in 24 h")
    gone = GroupLag("score_page", "t", "g", True, 0, 0.0, None, 1, partitions=(PartitionLag(0, 2, 9, 0, 0.0, 7),))
    [lost] = judge_retention([gone])
    assert (lost.state, lost.detail) == ("warn", "7 records of t were deleted before score_page read them")


def test_decisions_under_other_rules_are_reported() -> None:
    at = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
    here = {"score_page": "aaa", "index_page": "bbb"}
    same, another = {"score_page": Decision("aaa", at)}, {"index_page": Decision("ccc", at)}
    assert judge_versions(LatestDecisions({}), here).detail == "no decision has been made yet"
    assert judge_versions(LatestDecisions(same), here).state == "ok"
    hidden = judge_versions(LatestDecisions(same, ("index_page",)), here)
    assert (hidden.state, hidden.detail[:45]) == ("warn", "the last records of index_page are those of r")
    other = judge_versions(LatestDecisions(same | another, ("fetch_page",)), here)
    assert (other.state, other.detail) == ("warn", "index_page last decided under other rules, at 2026-11-21 08:00 UTC")


@pytest.mark.parametrize(("values", "brokers", "found"), TABLES["unsuitable_broker_settings_are_reported"])
def test_unsuitable_broker_settings_are_reported(
    values: dict[str, str | None], brokers: int, found: tuple[tuple[str, str], ...]
) -> None:
    findings = checks._suits(KafkaSettings(), brokers, values)
    assert [(finding.what, finding.state) for finding in findings] == list(found)
