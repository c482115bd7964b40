"""The command ``assay answer``; what it does is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson, Config, Domains, Since, Tags, Tiers, Until, load_settings


def answer(
    text: Annotated[str, typer.Argument(help="What is asked; - reads it from standard input.")],
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="Sources; ranking.limit by default.")] = None,
    tier: Tiers = None,
    domain: Domains = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    candidates: Annotated[
        Path | None, typer.Option(help="Answer from these instead of the index's: one a line, or an array.")
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Quote the sources instead of asking a model.")] = False,
    app: Annotated[str, typer.Option(metavar="URL", help="Let this application search; found out by default.")] = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Answer a question from the index, with citations that carry their trust labels.

    assay answer "When was the dam closed?" --tier A
    """
    from streams.cli.answer import run_answer
    from streams.cli.query import QueryOptions

    options = QueryOptions(
        text=text,
        limit=limit,
        tiers=tuple(tier or ()),
        domains=tuple(domain or ()),
        tags=tuple(tag or ()),
        since=since,
        until=until,
        candidates=candidates,
        no_model=no_model,
        app=app,
        as_json=as_json,
    )
    return run_answer(load_settings(config), options)
