"""``assay topics``: creates the topics of the topology, lists them, compares them with the cluster, or lists rights."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from typer import Argument, Option

from streams.cli.command import AsJson, Config, load_settings, run_with_kafka
from streams.cli.output import print_rows, say, say_json, show
from streams.settings.model import Settings

Action = Literal["create", "list", "diff", "acl"]


def topics(
    action: Annotated[Action, Argument(help="What to do.")] = "list",
    dry_run: Annotated[bool, Option("--dry-run", help="Report what create would do.")] = False,
    commands: Annotated[bool, Option("--commands", help="Print acl as commands of Kafka's own tool.")] = False,
    principal: Annotated[str, Option(metavar="TEXT", help="Principals of acl; {} is the account.")] = "User:{}",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    settings = load_settings(config).with_kafka()
    if action == "acl":
        return _print_acls(settings, principal, commands=commands, as_json=as_json)
    return run_topics(action, settings, as_json=as_json, dry_run=dry_run)


def run_topics(action: Action, settings: Settings, *, as_json: bool = False, dry_run: bool = False) -> int:
    if action == "create":
        return run_with_kafka("topics", settings, _create(settings, as_json=as_json, dry_run=dry_run))
    return run_with_kafka("topics", settings, (_list if action == "list" else _diff)(settings, as_json=as_json))


def _print_acls(settings: Settings, principal: str, *, commands: bool, as_json: bool) -> int:
    from streams.kafka.topics import command_of, needed_acls

    acls = [(principal.replace("{}", acl.account), acl) for acl in needed_acls(settings.kafka)]
    if as_json:
        say_json({"acls": [asdict(acl) | {"principal": name} for name, acl in acls]})
    elif commands:
        for name, acl in acls:
            say(command_of(acl, name, settings.kafka.bootstrap_servers))
    else:
        rows = [(name, acl.resource, acl.name + "*" * acl.prefixed, ", ".join(acl.operations)) for name, acl in acls]
        print_rows(("principal", "resource", "name", "operations"), rows)
    return 0


async def _create(settings: Settings, *, as_json: bool, dry_run: bool) -> int:
    from streams.kafka.topics import create_topics, find_differences, plan_topics

    if dry_run:
        made = [difference.topic for difference in await find_differences(settings.kafka) if difference.what == "topic"]
    else:
        made = await create_topics(settings.kafka)
    planned = [topic.name for topic in plan_topics(settings.kafka)]
    existing = [name for name in planned if name not in made]
    counts = {"created": [] if dry_run else made, "missing": made if dry_run else [], "existing": existing}
    done = "would be made" if dry_run else "made"
    return show(as_json, counts, *(f"{done if name in made else 'existed':14} {name}" for name in planned))


async def _list(settings: Settings, *, as_json: bool) -> int:
    """Lists the planned topics; the records that it counts include transaction markers."""
    from streams.kafka.log_reader import committed_ranges
    from streams.kafka.topics import plan_topics

    prefix, planned = settings.kafka.topic_prefix, {topic.name for topic in plan_topics(settings.kafka)}
    found = await committed_ranges(settings.kafka, [name.removeprefix(prefix) for name in planned])
    rows: list[dict[str, Any]] = [
        {
            "topic": prefix + part.topic,
            "partitions": len(part.ranges),
            "records": sum(span.end - span.start for span in part.ranges),
        }
        for part in found
    ]
    missing = sorted(planned.difference(row["topic"] for row in rows))
    if as_json:
        say_json({"topics": rows, "missing": missing})
        return 0
    cells = [[str(cell) for cell in row.values()] for row in rows]
    cells += [[name, "-", "missing: assay topics create"] for name in missing]
    print_rows(("topic", "partitions", "records"), cells, right=("partitions", "records"))
    return 0


async def _diff(settings: Settings, *, as_json: bool) -> int:
    from streams.kafka.topics import find_differences

    differences = await find_differences(settings.kafka)
    lines = [
        f"{found.topic}: {found.what} should be {found.planned}, is {found.actual or 'missing: assay topics create'}"
        for found in differences
    ]
    document = {"differences": [asdict(difference) for difference in differences]}
    show(as_json, document, *(lines or ["the cluster's topics are as declared"]))
    return 1 if differences else 0
