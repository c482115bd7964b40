"""``assay dlq``: counts dead letters, shows one, sends them again, deletes them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from schemas.event import derive_id
from streams.cli.errors import run_with_kafka
from streams.cli.options import AsJson, Config, load_settings
from streams.cli.output import tell
from streams.dlq.dead_letters import DeadLetterReader, DeadLetterRecord, Selection
from streams.dlq.redrive import purge, redrive
from streams.settings import Settings
from streams.topology import HANDLERS, handler_named

if TYPE_CHECKING:
    from streams.dlq.dead_letters import Selection

_SHOWN_BYTES = 2000


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


@dataclass
class _Count:
    """Letters of one handler and reason."""

    waiting: int = 0
    redriven: int = 0
    size: int = 0
    oldest: str = ""
    newest: str = ""

    def add(self, letter: DeadLetterRecord) -> None:
        self.redriven += letter.redriven_by is not None
        self.waiting += letter.redriven_by is None
        self.size += letter.size
        died = letter.note.died_at
        self.oldest, self.newest = min(self.oldest or died, died), max(self.newest, died)


def run_list(
    settings: Settings, selection: Selection, each: bool, everything: bool, as_json: bool, plan: str = ""
) -> int:
    """Counts letters by handler and reason, or tells of each.

    Args:
        settings: The configuration; a Kafka is named in it.
        selection: Which letters.
        each: Tell of every letter, a line each.
        everything: Also of those that were sent again.
        as_json: Write JSON.
        plan: The replay whose letters are meant; "" for those of live traffic.

    Returns:
        0; 1 for trouble with Kafka, or where there is no such plan's topic; 130 after Ctrl-C.
    """
    return run_with_kafka("dlq list", settings, _list(settings, selection, each, everything, as_json, plan))


def run_show(settings: Settings, name: str, value_to: str | None, as_json: bool, plan: str = "") -> int:
    """Shows one letter, or writes its value as it came.

    Args:
        settings: The configuration; a Kafka is named in it.
        name: ``handler/partition/offset``.
        value_to: A file for the value, ``-`` for standard output.
        as_json: Write JSON.
        plan: The replay in which it died; "" for live traffic.

    Returns:
        0; 1 where there is no such letter, or for trouble with Kafka; 2 for a name that is none.
    """
    handler, _, place = name.partition("/")
    partition, _, offset = place.partition("/")
    if handler_named(handler) is None or not (partition.isdecimal() and offset.isdecimal()):
        known = ", ".join(one.name for one in HANDLERS)
        tell("dlq show", f"a letter is named HANDLER/PARTITION/OFFSET, as `assay dlq list --letters` does; {known}")
        return 2
    return run_with_kafka("dlq show", settings, _show(settings, name, value_to, as_json, plan))


def run_redrive(
    settings: Settings,
    selection: Selection,
    *,
    run_id: str | None,
    dry_run: bool,
    again: bool,
    limit: int | None,
    rate: float | None,
    as_json: bool,
) -> int:
    """Sends letters again to the topics they came from.

    Returns:
        0; 1 for trouble with Kafka, what was sent before it counts and is not sent twice; 130 after Ctrl-C.
    """
    run = run_id or f"redrive-{derive_id(datetime.now(UTC).isoformat())[:8]}"
    return run_with_kafka(
        "dlq redrive", settings, _redrive(settings, selection, run, dry_run, again, limit, rate, as_json)
    )


def run_purge(settings: Settings, selection: Selection, only_redriven: bool, dry_run: bool, as_json: bool) -> int:
    """Deletes letters, from the oldest on.

    Returns:
        0; 1 for trouble with Kafka; 130 after Ctrl-C.
    """
    return run_with_kafka("dlq purge", settings, _purge(settings, selection, only_redriven, dry_run, as_json))


async def _list(
    settings: Settings, selection: Selection, each: bool, everything: bool, as_json: bool, plan: str
) -> int:
    counts: dict[tuple[str, str], _Count] = {}
    async with DeadLetterReader(settings, selection, plan) as found:
        if plan and not found.partitions:
            tell("dlq list", f"no dead letters are kept of a replay {plan!r}; `assay replay list` shows the plans")
            return 1
        for handler, partition in found.partitions:
            runs = await found.redriven(partition)
            async for letter in found.read(handler, partition, runs):
                if not selection.means(handler, letter.record.key, letter.note):
                    continue
                if each and (everything or letter.redriven_by is None):
                    print(_json_line(letter) if as_json else _line(letter), flush=True)
                counts.setdefault((handler, letter.note.reason), _Count()).add(letter)
    if each:
        return 0
    rows = [
        {
            "handler": handler,
            "reason": reason,
            "waiting": count.waiting,
            "redriven": count.redriven,
            "bytes": count.size,
            "oldest": count.oldest,
            "newest": count.newest,
        }
        for (handler, reason), count in sorted(counts.items())
        if everything or count.waiting
    ]
    if as_json:
        print(json.dumps({"waiting": sum(count.waiting for count in counts.values()), "letters": rows}))
    elif not rows:
        print("no dead letters wait")
    else:
        _print_table(rows)
    return 0


async def _show(settings: Settings, name: str, value_to: str | None, as_json: bool, plan: str) -> int:
    handler_name, number, offset = name.split("/")
    letter = None
    async with DeadLetterReader(settings, Selection((handler_name,)), plan) as found:
        for _, partition in found.partitions:
            if partition.partition == int(number):
                runs = await found.redriven(partition)
                letter = await anext(found.read(handler_name, partition, runs, int(offset)), None)
    if letter is None or letter.id != name:
        of_plan = f" of the replay {plan!r}" if plan else ""
        tell("dlq show", f"there is no letter {name}{of_plan}; it may have been purged, or its retention is over")
        return 1
    value = letter.record.value or b""
    if value_to == "-":
        sys.stdout.buffer.write(value)
    elif value_to is not None:
        await asyncio.to_thread(Path(value_to).write_bytes, value)
        print(f"{len(value)} bytes written to {value_to}")
    elif as_json:
        print(json.dumps(_described(letter) | {"headers": _headers(letter), "value": _value(value, len(value))}))
    else:
        for what, text in (_described(letter) | _headers(letter)).items():
            print(f"{_printable(what):24} {_printable(str(text))}")
        print(f"{'value':24} {_printable(str(_value(value, _SHOWN_BYTES)))}")
    return 0


async def _redrive(
    settings: Settings,
    selection: Selection,
    run: str,
    dry_run: bool,
    again: bool,
    limit: int | None,
    rate: float | None,
    as_json: bool,
) -> int:
    with _progress() as advance:
        done = await redrive(
            settings, selection, run, dry_run=dry_run, again=again, limit=limit, rate=rate, advance=advance
        )
    rows = [{"handler": h, "reason": r, "topic": t, "letters": n} for (h, r, t), n in sorted(done.targets.items())]
    if as_json:
        counts = {"run": run, "dry_run": dry_run, "matched": done.matched, "redriven": 0 if dry_run else done.sent}
        print(json.dumps(counts | {"skipped": done.skipped.total(), "reasons": done.skipped, "letters": rows}))
        return 0
    for row in rows:
        print(f"{row['handler']}  {row['reason']}: {row['letters']} to {row['topic']}")
    skipped = "".join(f", {count} skipped ({why})" for why, count in sorted(done.skipped.items()))
    print(f"{done.sent} {'would be sent' if dry_run else f'sent again as run {run}'}{skipped}")
    return 0


async def _purge(settings: Settings, selection: Selection, only_redriven: bool, dry_run: bool, as_json: bool) -> int:
    done = await purge(settings, selection, only_redriven, dry_run)
    if as_json:
        counts = {"deleted": 0 if dry_run else done.deleted, "would_delete": done.deleted, "held_back": done.held_back}
        print(json.dumps(counts | {"not_sent_again": done.not_sent_again, "dry_run": dry_run}))
        return 0
    print(
        f"{done.deleted} {'would be deleted' if dry_run else 'deleted'}, {done.not_sent_again} of them never sent again"
    )
    if done.held_back:
        print(f"{done.held_back} more stand behind letters that stay; Kafka deletes from the oldest on only")
    return 0


def _described(letter: DeadLetterRecord) -> dict[str, Any]:
    note = letter.note
    return {
        "id": letter.id,
        "reason": note.reason,
        "stage": note.stage,
        "error": note.error,
        "died_at": note.died_at,
        "from": f"{note.topic}/{note.partition}/{note.offset}",
        "root_id": note.root_id,
        "key": None if letter.record.key is None else letter.record.key.decode("utf-8", "replace"),
        "bytes": note.original_size or letter.size,
        "redriven_by": letter.redriven_by,
    }


def _headers(letter: DeadLetterRecord) -> dict[str, Any]:
    return {
        name: None if value is None else value.decode("utf-8", "backslashreplace")
        for name, value in letter.record.headers
    }


def _value(value: bytes, most: int) -> Any:
    """The beginning of a value: text where it is text."""
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(value[:most]).decode()}
    return text[:most] + ("…" if len(text) > most else "")


def _json_line(letter: DeadLetterRecord) -> str:
    return json.dumps(_described(letter))


def _line(letter: DeadLetterRecord) -> str:
    note, mark = letter.note, f" (redriven by {letter.redriven_by})" if letter.redriven_by is not None else ""
    return _printable(f"{letter.id}  {note.died_at[:19]}  {note.reason}: {note.error[:200]}{mark}")


def _print_table(rows: list[dict[str, Any]]) -> None:
    console = Console()
    if not console.is_terminal:
        for row in rows:
            print("\t".join(str(cell) for cell in row.values()))
        return
    table = Table(box=None, header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="right" if isinstance(rows[0][name], int) else "left")
    for row in rows:
        table.add_row(*(str(cell)[:19] if name in ("oldest", "newest") else str(cell) for name, cell in row.items()))
    console.print(table)


def _printable(text: str) -> str:
    """A text without what could steer a terminal: letters hold what strangers sent."""
    return "".join(character if character.isprintable() else "�" for character in text)


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Something to call with how many more were sent; on a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("sending again", total=None)
        yield lambda count: progress.advance(task, count)
