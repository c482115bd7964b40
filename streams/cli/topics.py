"""``assay topics``: creates the topics of the topology, lists them, compares them with the cluster, or lists rights."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Literal

import typer
from aiokafka import TopicPartition

from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import print_rows
from streams.kafka.acls import command_of, needed_acls
from streams.kafka.clients import make_admin, make_reader, opened
from streams.kafka.topics import create_topics, find_differences, plan_topics
from streams.settings.model import Settings

Action = Literal["create", "list", "diff", "acl"]


def topics(
    action: Annotated[Action, typer.Argument(help="What to do.")] = "list",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what create would do.")] = False,
    commands: Annotated[bool, typer.Option("--commands", help="Print acl as commands of Kafka's own tool.")] = False,
    principal: Annotated[
        str, typer.Option("--principal", metavar="TEXT", help="Principals of acl; {} is the account.")
    ] = "User:{}",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Create the topics, list them, compare them with what is declared, or list needed rights."""
    if action == "acl":
        return print_acls(load_settings(config).with_kafka(), principal, commands=commands, as_json=as_json)
    return run_topics(action, load_settings(config).with_kafka(), as_json=as_json, dry_run=dry_run)


def run_topics(
    action: Literal["create", "list", "diff"], settings: Settings, *, as_json: bool = False, dry_run: bool = False
) -> int:
    """Runs the command; 1 if ``diff`` finds a difference."""
    match action:
        case "create":
            work = _create(settings, as_json=as_json, dry_run=dry_run)
        case "list":
            work = _list(settings, as_json=as_json)
        case "diff":
            work = _diff(settings, as_json=as_json)
    return run_with_kafka("topics", settings, work)


def print_acls(settings: Settings, principal: str, *, commands: bool, as_json: bool) -> int:
    """Prints the rights of each account; the cluster is not asked."""
    acls = [(principal.replace("{}", acl.account), acl) for acl in needed_acls(settings.kafka)]
    if as_json:
        print(json.dumps({"acls": [asdict(acl) | {"principal": name} for name, acl in acls]}))
    elif commands:
        for name, acl in acls:
            print(command_of(acl, name, settings.kafka.bootstrap_servers))
    else:
        rows = [
            (name, acl.resource, acl.name + ("*" if acl.prefixed else ""), ", ".join(acl.operations))
            for name, acl in acls
        ]
        print_rows(("principal", "resource", "name", "operations"), rows)
    return 0


async def _create(settings: Settings, *, as_json: bool, dry_run: bool) -> int:
    if dry_run:
        made = [difference.topic for difference in await find_differences(settings.kafka) if difference.what == "topic"]
    else:
        made = await create_topics(settings.kafka)
    planned = [topic.name for topic in plan_topics(settings.kafka)]
    existing = [name for name in planned if name not in made]
    if as_json:
        counts = {"created": [] if dry_run else made, "missing": made if dry_run else [], "existing": existing}
        print(json.dumps(counts))
        return 0
    for name in planned:
        print(f"{('would be made' if dry_run else 'made') if name in made else 'existed':14} {name}")
    return 0


async def _list(settings: Settings, *, as_json: bool) -> int:
    planned = {topic.name for topic in plan_topics(settings.kafka)}
    rows = [row for row in await _described(settings) if row["topic"] in planned]
    missing = sorted(planned - {str(row["topic"]) for row in rows})
    if as_json:
        print(json.dumps({"topics": rows, "missing": missing}))
        return 0
    cells = [(str(row["topic"]), str(row["partitions"]), str(row["records"])) for row in rows]
    cells += [(name, "-", "missing: assay topics create") for name in missing]
    print_rows(("topic", "partitions", "records"), cells, right=("partitions", "records"))
    return 0


async def _diff(settings: Settings, *, as_json: bool) -> int:
    differences = await find_differences(settings.kafka)
    if as_json:
        print(json.dumps({"differences": [asdict(difference) for difference in differences]}))
    elif not differences:
        print("the cluster's topics are as declared")
    for difference in [] if as_json else differences:
        actual = difference.actual or "missing: assay topics create"
        print(f"{difference.topic}: {difference.what} should be {difference.planned}, is {actual}")
    return 1 if differences else 0


async def _described(settings: Settings) -> list[dict[str, object]]:
    """The existing topics with their partitions and offsets, transaction markers included."""
    async with opened(make_admin(settings.kafka)) as admin:
        wanted = {topic.name for topic in plan_topics(settings.kafka)} & set(await admin.list_topics())
        if not wanted:
            return []
        described = await admin.describe_topics(sorted(wanted))
    async with opened(make_reader(settings.kafka)) as reader:
        rows: list[dict[str, object]] = []
        for topic in sorted(described, key=lambda topic: str(topic["topic"])):
            partitions = [TopicPartition(topic["topic"], p["partition"]) for p in topic["partitions"]]
            ends, begins = await reader.end_offsets(partitions), await reader.beginning_offsets(partitions)
            records = sum(ends.values()) - sum(begins.values())
            rows.append({"topic": topic["topic"], "partitions": len(partitions), "records": records})
        return rows
