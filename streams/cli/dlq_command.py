"""``assay dlq`` on the command line. The work is in ``streams.cli.dlq``, imported when it is called."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Config, load_settings

if TYPE_CHECKING:
    from streams.dlq.dead_letters import Selection

dlq = typer.Typer(
    help="Count dead letters, show one, send them again, or delete them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


OfHandler = Annotated[list[str] | None, typer.Option("--handler", help="Only of this handler; may be repeated.")]
OfReason = Annotated[list[str] | None, typer.Option("--reason", help="Only with this reason; may be repeated.")]
OfStage = Annotated[str | None, typer.Option("--stage", help="Only from decode, handle or encode.")]
OfKey = Annotated[str | None, typer.Option("--key", help="Only with this record key.")]
Since = Annotated[str, typer.Option("--since", help="Died at or after: 2026-11-21T08:00 (UTC), or 90m, 2h, 7d ago.")]
Until = Annotated[str, typer.Option("--until", help="Died before; as --since.")]
OfPlan = Annotated[str, typer.Option("--plan", help="What died in this replay, and not in live traffic.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count.")]


@dlq.command("list")
def dlq_list(
    handlers: OfHandler = None,
    reasons: OfReason = None,
    stage: OfStage = None,
    key: OfKey = None,
    since: Since = "",
    until: Until = "",
    each: Annotated[bool, typer.Option("--letters", help="Tell of every letter.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also what was sent again.")] = False,
    plan: OfPlan = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Count the dead letters that wait, by handler and reason."""
    from streams.cli.dlq import run_list

    selection = _selection(handlers, reasons, stage, key, since, until)
    return run_list(load_settings(config).with_kafka(), selection, each, everything, as_json, plan)


@dlq.command("show")
def dlq_show(
    letter: Annotated[str, typer.Argument(help="HANDLER/PARTITION/OFFSET, as list --letters names it.")],
    value_to: Annotated[str | None, typer.Option("--value", help="Write the original bytes to a file, or - .")] = None,
    plan: OfPlan = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show one dead letter: why it died, where it stood, its headers and its value."""
    from streams.cli.dlq import run_show

    return run_show(load_settings(config).with_kafka(), letter, value_to, as_json, plan)


@dlq.command("redrive")
def dlq_redrive(
    handlers: OfHandler = None,
    reasons: OfReason = None,
    stage: OfStage = None,
    key: OfKey = None,
    since: Since = "",
    until: Until = "",
    run_id: Annotated[str | None, typer.Option("--run-id", help="Marks the records; else one is made up.")] = None,
    dry_run: DryRun = False,
    again: Annotated[bool, typer.Option("--again", help="Also what was sent again before.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="At most so many letters.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", min=0.001, help="Letters a second at most.")] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Send dead letters again to the topic they came from, each once.

    Not those of a replay: their inputs stand where they were, and another plan replays them.
    """
    from streams.cli.dlq import run_redrive

    return run_redrive(
        load_settings(config).with_kafka(),
        _selection(handlers, reasons, stage, key, since, until),
        run_id=run_id,
        dry_run=dry_run,
        again=again,
        limit=limit,
        rate=rate,
        as_json=as_json,
    )


@dlq.command("purge")
def dlq_purge(
    handlers: OfHandler = None,
    reasons: OfReason = None,
    stage: OfStage = None,
    key: OfKey = None,
    since: Since = "",
    until: Until = "",
    only_redriven: Annotated[bool, typer.Option("--redriven", help="Only what was sent again.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every letter.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Delete dead letters, from the oldest on, up to the first one that is not meant."""
    from streams.cli.dlq import run_purge

    selection = _selection(handlers, reasons, stage, key, since, until)
    if selection.open and not (only_redriven or everything):
        raise typer.BadParameter("say which letters: --redriven, --handler, --reason, --until, or --all")
    if not (dry_run or yes):
        if not sys.stdin.isatty():
            raise typer.BadParameter("deleting needs --yes where nobody can be asked; --dry-run counts")
        typer.confirm("Delete them for good?", abort=True)
    return run_purge(load_settings(config).with_kafka(), selection, only_redriven, dry_run, as_json)


def _selection(
    handlers: list[str] | None,
    reasons: list[str] | None,
    stage: str | None,
    key: str | None,
    since: str,
    until: str,
) -> Selection:
    from streams.dlq.dead_letters import SelectionError, selection_of

    try:
        return selection_of(handlers or [], reasons or [], stage, key, since, until, datetime.now(UTC))
    except SelectionError as error:
        raise typer.BadParameter(str(error)) from None
