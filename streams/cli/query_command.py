"""The command ``assay query``; what it does is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from streams.cli.options import AsJson, Config, Domains, Since, Tags, Tiers, Until, load_settings

_STAGES = ("bm25", "ranking", "trees", "mmr", "reasoning")
"""Those that a query can do without."""


def query(
    text: Annotated[str, typer.Argument(help="What is asked; - reads it from standard input.")],
    limit: Annotated[int | None, typer.Option(min=1, max=100, help="Results; ranking.limit by default.")] = None,
    tier: Tiers = None,
    domain: Domains = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    candidates: Annotated[
        Path | None, typer.Option(help="Rank these instead of the index's: one a line, or an array.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help=f"Leave a stage out, of {', '.join(_STAGES)}; repeatable."),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Ask the offline judge instead of a model.")] = False,
    context: Annotated[bool, typer.Option("--context", help="What a model would read of the results.")] = False,
    prompt: Annotated[
        Literal["analyst", "critic", "writer"] | None, typer.Option(help="A role's whole prompt, rendered.")
    ] = None,
    app: Annotated[str, typer.Option(metavar="URL", help="Ask this application; found out by default.")] = "",
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Search the index and say why each result is where it is.

    assay query "carbon tax 2025" --tier A --since 2025-01-01
    """
    if context and prompt:
        raise typer.BadParameter("it stands alone, without --context", param_hint="'--prompt'")
    if app and (without or no_model):
        raise typer.BadParameter("that application's configuration decides; leave it out", param_hint="'--without'")
    if unknown := set(without or ()) - set(_STAGES):
        raise typer.BadParameter(f"{min(unknown)!r} is none of {', '.join(_STAGES)}", param_hint="'--without'")
    from streams.cli.query import QueryOptions, run_query

    options = QueryOptions(
        text=text,
        limit=limit,
        tiers=tuple(tier or ()),
        domains=tuple(domain or ()),
        tags=tuple(tag or ()),
        since=since,
        until=until,
        candidates=candidates,
        without=frozenset(without or ()),
        no_model=no_model,
        context=context,
        prompt=prompt,
        app=app,
        as_json=as_json,
    )
    return run_query(load_settings(config), options)
