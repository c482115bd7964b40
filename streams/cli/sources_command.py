"""``assay sources`` on the command line. The work is in ``streams.cli``, imported when a command is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson, Config, load_settings

sources = typer.Typer(
    help="Show which kind and tier an address has, or import your own sources.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@sources.command("check")
def sources_check(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Addresses or hosts.")],
    publisher: Annotated[str, typer.Option(help="The publisher's name, as a crawler would give it.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show each suffix and rule that was tried.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Show the tier and kind of addresses, the entry that decides, and the reason.

    assay sources check https://www.reuters.com/world/ --explain
    """
    from streams.cli.sources import AddressError, run_check

    try:
        return run_check(urls, load_settings(config), publisher or None, explain, as_json)
    except AddressError as error:
        raise typer.BadParameter(str(error), param_hint="'URL...'") from None


@sources.command("import")
def sources_import(
    file: Annotated[Path, typer.Argument(help="CSV, TSV, JSON lines, or one domain a line.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The YAML file; own_sources.yaml beside assay.yaml by default."),
    ] = None,
    kind: Annotated[str, typer.Option(help="The kind of lines that state neither kind nor tier.")] = "",
    tier: Annotated[
        int | None, typer.Option(min=1, max=3, help="The tier of lines that state neither kind nor tier.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Validate and count; write nothing.")] = False,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    """Import your own sources: domain[,kind or tier][,reason]. They take precedence over the shipped lists.

    assay sources import press.csv --kind newspaper --dry-run
    """
    from streams.cli.sources_import import ImportOptions, default_out, run_import

    settings = load_settings(config)
    if kind and kind not in settings.sources.kinds:
        known = ", ".join(settings.sources.kinds)
        raise typer.BadParameter(f"{kind!r} is not a kind; there are {known}", param_hint="'--kind'")
    target = out or default_out()
    if target is None:
        message = "the installed configuration is not yours to change: name a file, or set ASSAY_CONFIG_DIR"
        raise typer.BadParameter(message, param_hint="'--out'")
    return run_import(settings, ImportOptions(file, target, kind or None, tier, dry_run, as_json))
