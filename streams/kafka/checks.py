"""The checks of ``assay doctor`` of Kafka: the cluster, its topics and groups, clocks, and the rules of the workers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.protocol.admin import ApiVersionRequest
from aiokafka.protocol.transaction import EndTxnRequest

from streams.kafka.clients import make_admin, opened
from streams.kafka.groups import DeadLettersStanding, GroupLag, read_dead_letters, read_lags
from streams.kafka.lookups import LatestDecisions, read_dated_after, read_latest_decisions, read_outdated_points
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import find_differences, plan_topics
from streams.kafka.trouble import explain_trouble
from streams.runtime.amounts import in_time
from streams.runtime.checks import Check
from streams.runtime.clock import SystemClock
from streams.topology import HANDLERS, RETENTION_DAYS, Handler

SECONDS = 15.0  # the time that the cluster has for each check
_CONNECT_SECONDS = 3.0
_OLDEST_TESTED = "3.9"  # the last version before 4.0, and the oldest that the tests run on
_SKEW_SECONDS = 60.0  # how far a record's timestamp may be ahead of this machine's clock
_LITTLE = 0.25  # the share of the retention below which the rest is reported
_NAMED = 3
_OWN_EPOCH = 5  # the EndTxn version from which a late end of a transaction can't end the next one (KIP-890)

_Look = Callable[[KafkaSettings], Coroutine[Any, Any, list[Check]]]


def check_kafka(kafka: KafkaSettings, config_version: Callable[[Handler], str], *, named: bool) -> Iterator[Check]:
    """The checks of a cluster, until one finds no Kafka; each takes ``SECONDS`` at most.

    ``named`` is whether the configuration names the cluster; none at the default address is no failure.
    """
    if not named and not _listens(where := kafka.bootstrap_servers):
        none = f"none at {where}, the default address"
        yield Check("Kafka", "warn", none, "`assay broker --detach` starts one, `assay demo` its own")
        return
    # aiokafka logs each failed connection attempt; the finding reports it once.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    looks: tuple[_Look, ...] = (_cluster, _topics, _groups, _clocks, partial(_decisions, config_version), _index)
    for look in looks:
        found = asyncio.run(_findings(look, kafka))
        yield from found
        if any(finding.what == "Kafka" and finding.state == "fail" for finding in found):
            return


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


async def _findings(look: _Look, kafka: KafkaSettings) -> list[Check]:
    try:
        return await asyncio.wait_for(look(kafka), SECONDS)
    except TimeoutError:
        found = f"{kafka.bootstrap_servers} did not answer within {SECONDS:g} s"
        return [Check("Kafka", "fail", found, "look at its logs")]
    except (KafkaError, OSError, ValueError) as error:
        return [Check("Kafka", "fail", await explain_trouble(error, kafka))]


async def _cluster(kafka: KafkaSettings) -> list[Check]:
    async with opened(make_admin(kafka)) as admin:
        brokers = (await admin.describe_cluster())["brokers"]
        node = brokers[0]["node_id"]
        responses = await admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, str(node))])
        versions = (await admin._client.send(node, ApiVersionRequest())).api_versions
    values = {e[0]: e[1] for response in responses for *_, entries in response.resources for e in entries}
    count = len(brokers)
    offered = {key: (oldest, newest) for key, oldest, newest in versions}
    used = EndTxnRequest("", 0, 0, True).prepare(offered).API_VERSION
    end = f"EndTxn version {used}, the brokers offer {offered[EndTxnRequest.API_KEY][1]}"
    if used < _OWN_EPOCH:
        end += "; a commit without an answer is not repeated, its producer is replaced"
    return [_answers(kafka, count, values), *_suits(kafka, count, values), Check("transactions", "ok", end)]


def _answers(kafka: KafkaSettings, brokers: int, values: Mapping[str, str | None]) -> Check:
    # No request returns the version; brokers before 4.0 have the version of their own protocol as a setting.
    spoken = values.get("inter.broker.protocol.version")
    version = f"version {spoken.split('-')[0]}" if spoken else "version 4.0 or newer" if values else "version unknown"
    found = f"{kafka.bootstrap_servers}, {brokers} broker{'' if brokers == 1 else 's'}, {version}"
    if spoken and not spoken.startswith(_OLDEST_TESTED):
        return Check("Kafka", "warn", found, f"Assay is tested with {_OLDEST_TESTED}, 4.1 and 4.2; plan to upgrade")
    return Check("Kafka", "ok", found)


def _suits(kafka: KafkaSettings, brokers: int, values: Mapping[str, str | None]) -> Iterator[Check]:
    """Settings of the brokers that contradict those of Assay."""
    longest = int(values.get("transaction.max.timeout.ms") or 0)
    if longest and kafka.transaction_timeout_seconds * 1000 > longest:
        found = f"the brokers allow transactions of {in_time(longest / 1000)}, and Assay needs more"
        yield Check("transaction timeout", "fail", found, "lower ASSAY_KAFKA__TRANSACTION_TIMEOUT_SECONDS")
    kept, events = int(values.get("offsets.retention.minutes") or 0), RETENTION_DAYS * 24 * 60
    if kept and kept < events:
        found = f"deleted {in_time(60 * kept)} after a group stopped; the group then starts again at the first record"
        yield Check("offsets", "warn", found, f"raise offsets.retention.minutes to {events}")
    if values.get("auto.create.topics.enable") == "true":
        found = "the brokers create any topic that a client names, with default settings"
        yield Check("topics", "warn", found, "set auto.create.topics.enable=false")
    if brokers >= 3 > kafka.replication_factor:
        found = f"new topics have {kafka.replication_factor} of {brokers} possible replicas"
        yield Check("replication", "warn", found, "set ASSAY_KAFKA__REPLICATION_FACTOR=3")


async def _topics(kafka: KafkaSettings) -> list[Check]:
    planned, differences = len(plan_topics(kafka)), await find_differences(kafka)
    missing = sum(difference.what == "topic" for difference in differences)
    found = []
    if missing:
        what = f"{missing} of {planned} are missing"
        found.append(Check("topics", "warn", what, "`assay topics create` creates them"))
    if others := len(differences) - missing:
        found.append(Check("topics", "warn", f"{others} differences from what is declared", "`assay topics diff`"))
    return found or [Check("topics", "ok", f"all {planned} as declared")]


async def _groups(kafka: KafkaSettings) -> list[Check]:
    lags = await read_lags(kafka, HANDLERS, SystemClock())
    dead = await read_dead_letters(kafka, HANDLERS, SystemClock())
    return [*judge_groups(lags), *judge_retention(lags), _judge_dead_letters(dead)]


def judge_groups(lags: Sequence[GroupLag]) -> Iterator[Check]:
    """Whether each handler with waiting records runs, and is within its promise."""
    slo = {handler.name: handler.slo_seconds for handler in HANDLERS}
    stopped = sorted({lag.handler for lag in lags if lag.records and not lag.members})
    late = [lag for lag in lags if lag.members and lag.seconds - lag.delay_seconds > slo[lag.handler]]
    if stopped:
        found = f"records wait, and no worker reads them: {_few(stopped)}"
        yield Check("groups", "warn", found, f"`assay run {stopped[0]}`")
    for lag in late:
        behind = in_time(lag.seconds - lag.delay_seconds)
        found = f"{lag.handler} is {behind} behind ({lag.records:,} records), {in_time(slo[lag.handler])} are promised"
        todo = "start more workers, up to the number of partitions; `assay top` shows the rate"
        yield Check("lag", "warn", found, todo)
    if not stopped and not late:
        running = len({lag.handler for lag in lags if lag.members})
        yield Check("groups", "ok", f"{running} of {len(slo)} handlers run, no handler is behind")


def judge_retention(lags: Sequence[GroupLag]) -> Iterator[Check]:
    """Whether retention has deleted unread records, or will soon."""
    for lag in lags:
        if lag.lost:
            found = f"{lag.lost:,} records of {lag.topic} were deleted before {lag.handler} read them"
            yield Check("retention", "warn", found, "publish them again; raise the topic's retention.ms")
        if (left := lag.retention_left_seconds) is not None and left < _LITTLE * (left + lag.seconds):
            found = f"unread records of {lag.topic} may be deleted in {in_time(left)}"
            yield Check("retention", "fail", found, f"`assay run {lag.handler}`, or raise the topic's retention.ms")


def _judge_dead_letters(dead: Sequence[DeadLettersStanding]) -> Check:
    waiting = [letters for letters in dead if letters.records]
    if not waiting:
        return Check("dead letters", "ok", "no dead letters")
    oldest = max(letters.oldest_seconds for letters in waiting)
    found = f"of {_few([letters.handler for letters in waiting])}, the oldest {in_time(oldest)} old"
    return Check("dead letters", "warn", found, "`assay dlq list` shows why, `assay dlq redrive` sends them again")


async def _clocks(kafka: KafkaSettings) -> list[Check]:
    """Whether records have timestamps in the future; ages and retention depend on timestamps."""
    now = SystemClock().now()
    topics = {topic.name for topic in plan_topics(kafka)}
    dated = await read_dated_after(kafka, topics, now + timedelta(seconds=_SKEW_SECONDS))
    if not dated:
        return [Check("clocks", "ok", f"no record is dated more than {in_time(_SKEW_SECONDS)} ahead of this machine")]
    ahead = in_time((max(dated.values()) - now).total_seconds())
    found = f"records are dated {ahead} and more ahead of this machine, on {_few(sorted(dated))}"
    return [Check("clocks", "warn", found, "synchronize this machine, the brokers and the producers with NTP")]


async def _decisions(config_version: Callable[[Handler], str], kafka: KafkaSettings) -> list[Check]:
    latest = await read_latest_decisions(kafka, HANDLERS)
    return [judge_versions(latest, {handler.name: config_version(handler) for handler in HANDLERS})]


async def _index(kafka: KafkaSettings) -> list[Check]:
    return [_judge_outdated(*await read_outdated_points(kafka))]


def _judge_outdated(outdated: int, pages: int) -> Check:
    if not outdated:
        return Check("indexed pages", "ok", f"the last {pages:,} have the points of their last decision")
    found = f"{outdated:,} of the last {pages:,} have points of an older decision than pages.scored.v1"
    return Check("indexed pages", "warn", found, "`assay replay index_page --from earliest --to-live`")


def judge_versions(last: LatestDecisions, here: Mapping[str, str]) -> Check:
    """Whether the last decisions were made under the rules ``here``: the configuration's version of each handler."""
    latest, hidden = last.of, last.only_replayed
    others = [name for name, decision in latest.items() if decision.config_version != here[name]]
    if hidden and not others:
        found = f"the last records of {_few(hidden)} are those of replays, so the rules for live records are not known"
        return Check("rules", "warn", found, "check again after live records; `assay config show` on each worker")
    if not latest:
        return Check("rules", "ok", "no decision has been made yet")
    if not others:
        return Check("rules", "ok", f"the last decisions of {len(latest)} handlers were made under this configuration")
    newest = max((latest[name] for name in others), key=lambda decision: decision.at)
    found = f"{_few(others)} last decided under other rules, at {newest.at:%Y-%m-%d %H:%M} UTC"
    return Check("rules", "warn", found, "restart workers that were started before; `assay config show` on each")


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
