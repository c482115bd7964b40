"""``assay dlq``: counts dead letters, shows one, sends them again, or deletes them."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Option

from schemas.event import derive_id
from streams.cli.command import AsJson, CommandError, Config, command_group, confirm, load_settings, run_with_kafka
from streams.cli.output import Exact, print_rows, say, show
from streams.cli.progress import ProgressLine
from streams.dlq.selection import Selection, selection_of
from streams.kafka.settings import KafkaSettings
from streams.topology import HANDLERS, handler_named

if TYPE_CHECKING:
    from streams.dlq.dead_letters import DeadLetterRecord

_SHOWN_BYTES = 2000


dlq = command_group()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The options that select dead letters."""

    handlers: Annotated[list[str] | None, Option("--handler", help="Only of this handler; may be repeated.")] = None
    reasons: Annotated[list[str] | None, Option("--reason", help="Only with this reason; may be repeated.")] = None
    stage: Annotated[str | None, Option(help="Only from decode, handle or encode.")] = None
    key: Annotated[str | None, Option(help="Only with this record key.")] = None
    since: Annotated[str, Option(help="Died at or after: 2026-11-21T08:00 (UTC), or 90m, 2h, 7d ago.")] = ""
    until: Annotated[str, Option(help="Died before; as --since.")] = ""

    @property
    def selection(self) -> Selection:
        """Raises SelectionError."""
        names, now = (self.handlers or [], self.reasons or [], self.stage, self.key), datetime.now(UTC)
        return selection_of(*names, self.since, self.until, now)


OfPlan = Annotated[str, Option("--plan", help="Dead letters of this replay instead of those of live traffic.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only count.")]


@dlq.command("list")
def dlq_list(
    chosen: Chosen,
    listed: Annotated[bool, Option("--each", help="List each dead letter.")] = False,
    everything: Annotated[bool, Option("--all", help="Include dead letters that were sent again.")] = False,
    plan: OfPlan = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Count the dead letters that wait, by handler and reason."""
    selection = chosen.selection
    settings = load_settings(config).with_kafka()

    async def work() -> int:
        from streams.dlq.dead_letters import DeadLetterReader, LetterCounts, described

        counts = LetterCounts()
        async with DeadLetterReader(settings, selection, plan) as found:
            if plan and not found.partitions:
                none = f"no dead letters are kept of a replay {plan!r}; `assay replay list` shows the plans"
                raise CommandError(none)
            for handler, partition in found.partitions:
                async for letter in found.selected(handler, partition):
                    if listed and (everything or letter.redriven_by is None):
                        show(as_json, described(letter), _line(letter))
                    counts.add(letter)
        if listed:
            return 0
        rows = counts.rows(everything=everything)
        any_topic = bool(found.partitions)
        if as_json or not rows:
            document = {"waiting": counts.waiting, "letters": rows, "any_topic": any_topic}
            show(as_json, document, none_waiting(settings.kafka, any_topic=any_topic))
        else:
            numbers = {name for name, cell in rows[0].items() if isinstance(cell, int)}
            most = len("2026-11-21T08:00:00") if sys.stdout.isatty() else None
            print_rows(rows[0], [[str(cell)[:most] for cell in row.values()] for row in rows], right=numbers)
        return 0

    return run_with_kafka("dlq list", settings, work())


@dlq.command("show")
def dlq_show(
    letter: Annotated[str, Argument(help="HANDLER/PARTITION/OFFSET, as `list --each` prints it.")],
    value_to: Annotated[str | None, Option("--value", help="Write the original bytes to a file, or - .")] = None,
    plan: OfPlan = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show one dead letter: its error, its origin, its headers and its value."""
    settings = load_settings(config).with_kafka()
    handler, _, place = letter.partition("/")
    partition, _, offset = place.partition("/")
    if handler_named(handler) is None or not (partition.isdecimal() and offset.isdecimal()):
        known = ", ".join(known.name for known in HANDLERS)
        as_listed = "HANDLER/PARTITION/OFFSET, as `assay dlq list --each` prints it"
        raise CommandError(f"name it {as_listed}; handlers: {known}", 2)

    async def work() -> int:
        from streams.dlq.dead_letters import DeadLetterReader, described, header_texts, shown_value

        async with DeadLetterReader(settings, Selection((handler,)), plan) as letters:
            found = await letters.letter_at(handler, int(partition), int(offset))
        if found is None or found.id != letter:
            of_plan = f" of the replay {plan!r}" if plan else ""
            raise CommandError(f"there is no dead letter {letter}{of_plan}; it was purged, or its retention is over")
        value = found.record.value or b""
        if value_to == "-":
            Exact().write(value)
        elif value_to is not None:
            await asyncio.to_thread(Path(value_to).write_bytes, value)
            say(f"{len(value)} bytes written to {value_to}")
        else:
            about, headers = described(found), header_texts(found)
            lines = [f"{what:24} {text}" for what, text in (about | headers).items()]
            document = about | {"headers": headers, "value": shown_value(value, len(value))}
            show(as_json, document, *lines, f"{'value':24} {shown_value(value, _SHOWN_BYTES)}")
        return 0

    return run_with_kafka("dlq show", settings, work())


@dlq.command("redrive")
def dlq_redrive(
    chosen: Chosen,
    run_id: Annotated[str | None, Option(help="Run id of the records; generated by default.")] = None,
    dry_run: DryRun = False,
    again: Annotated[bool, Option("--again", help="Include dead letters that were sent again before.")] = False,
    limit: Annotated[int | None, Option(min=1, help="Maximum number of dead letters.")] = None,
    rate: Annotated[float | None, Option(min=0.001, help="Maximum dead letters a second.")] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Send dead letters again to the topic they came from, each once.

    Dead letters of a replay are not sent again: another replay reads their inputs.
    """
    run_id = run_id or f"redrive-{derive_id(datetime.now(UTC).isoformat())[:8]}"
    selection = chosen.selection
    settings = load_settings(config).with_kafka()

    async def work() -> int:
        from streams.dlq.redrive import RedriveOptions, redrive

        options = RedriveOptions(run_id, dry_run=dry_run, again=again, limit=limit, rate=rate)
        with ProgressLine("dlq redrive", "sending again") as advance:
            done = await redrive(settings, selection, options, advance)
        rows = [{"handler": h, "reason": r, "topic": t, "letters": n} for (h, r, t), n in sorted(done.targets.items())]
        sent = 0 if dry_run else done.sent
        counts = {"run": run_id, "dry_run": dry_run, "matched": done.matched, "redriven": sent}
        document = counts | {"skipped": done.skipped.total(), "reasons": done.skipped, "letters": rows}
        lines = [f"{row['handler']}  {row['reason']}: {row['letters']} to {row['topic']}" for row in rows]
        skipped = "".join(f", {count} skipped ({why})" for why, count in sorted(done.skipped.items()))
        end = f"{done.sent} {'would be sent' if dry_run else f'sent again as run {run_id}'}{skipped}"
        return show(as_json, document, *lines, end)

    return run_with_kafka("dlq redrive", settings, work())


@dlq.command("purge")
def dlq_purge(
    chosen: Chosen,
    only_redriven: Annotated[bool, Option("--redriven", help="Only dead letters that were sent again.")] = False,
    everything: Annotated[bool, Option("--all", help="All dead letters.")] = False,
    dry_run: DryRun = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Delete matching dead letters, oldest first; stops at the first one that does not match."""
    selection = chosen.selection
    if selection.open and not (only_redriven or everything):
        raise BadParameter("say which dead letters: --redriven, --handler, --reason, --until, or --all")
    confirm(dry_run or yes, "Delete them?", "--dry-run only counts")
    settings = load_settings(config).with_kafka()

    async def work() -> int:
        from streams.dlq.redrive import purge

        done = await purge(settings, selection, only_redriven=only_redriven, dry_run=dry_run)
        counts = {"deleted": 0 if dry_run else done.deleted, "would_delete": done.deleted, "dry_run": dry_run}
        deleted = "would be deleted" if dry_run else "deleted"
        lines = [f"{done.deleted} {deleted}, {done.not_sent_again} of them never sent again"]
        if done.held_back:
            held = f"{done.held_back} more are behind dead letters that stay"
            lines.append(f"{held}; Kafka can delete only the oldest records")
        return show(as_json, asdict(done) | counts, *lines)

    return run_with_kafka("dlq purge", settings, work())


def none_waiting(kafka: KafkaSettings, *, any_topic: bool) -> str:
    """The line for an empty list. It names the cluster, because the settings may name another one than the workers'."""
    prefix = f"with the prefix {kafka.topic_prefix!r}" if kafka.topic_prefix else "without a prefix"
    where = f"at {kafka.bootstrap_servers} {prefix}"
    if any_topic:
        return f"no dead letters are waiting {where}"
    asked = "are these the workers' settings (ASSAY_KAFKA__BOOTSTRAP_SERVERS, ASSAY_KAFKA__TOPIC_PREFIX)?"
    return f"no dead letters are waiting, and there is no dead letter topic {where}; {asked}"


def _line(letter: DeadLetterRecord) -> str:
    note, mark = letter.note, f" (redriven by {letter.redriven_by})" if letter.redriven_by is not None else ""
    return f"{letter.id}  {note.died_at[:19]}  {note.reason}: {note.error[:200]}{mark}"
