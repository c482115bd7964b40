"""The command ``assay publish``; what it does is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from streams.cli.options import AsJson, Config, load_settings


def publish(
    topic: Annotated[str, typer.Argument(help="Such as pages.crawled.v1.")],
    paths: Annotated[
        list[Path], typer.Argument(help="JSON lines, TSV, a page folder, cases.jsonl; - for standard input.")
    ],
    rate: Annotated[float | None, typer.Option(help="Records a second at most.")] = None,
    run_id: Annotated[
        str | None, typer.Option("--run-id", help="Marks the records as a backfill, which goes on where it was.")
    ] = None,
    resume: Annotated[str | None, typer.Option("--resume", help="The run to go on with; it must be there.")] = None,
    refused: Annotated[Path | None, typer.Option("--refused", help="A file that keeps what is refused.")] = None,
    lines: Annotated[
        Literal["jsonl", "tsv"] | None, typer.Option("--format", help="How lines are written; by the name otherwise.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only validate; nothing is sent, and no Kafka is needed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Validate, and say how long it takes and what handlers will cost.")
    ] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Publish events or pages, as live traffic or as a backfill that can be left alone."""
    if resume is not None and run_id is not None and resume != run_id:
        raise typer.BadParameter(f"--run-id {run_id} is another run", param_hint="'--resume'")
    from streams.cli.publish import run_publish

    settings = load_settings(config)
    return run_publish(
        topic,
        paths,
        settings if check or dry_run else settings.with_kafka(),
        as_json,
        rate,
        run_id if resume is None else resume,
        stated=lines,
        check_only=check,
        dry_run=dry_run,
        resume=resume is not None,
        refused=refused,
        config=config,
    )
