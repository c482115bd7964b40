"""``assay sources``: shows how the kind and tier of addresses are decided, and imports sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from handlers.html.links import host_of, registered_domain
from handlers.indexing.config import source_at
from handlers.score_page import ScorePageRules
from handlers.trust.labels import label_of
from handlers.trust.sources import ListedSource, Source, SourceRules, host_suffixes, suffix_forms
from streams.cli.options import AsJson, Config, command_group, load_settings
from streams.cli.output import plain_table, table_console
from streams.runtime.settings_files import OWN_SOURCES, user_file

sources = command_group("Show which kind and tier an address has, or import your own sources.")


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
    rules = load_settings(config).rules(ScorePageRules)
    found = [_described(_address(text), publisher or None, rules, explain=explain) for text in urls]
    if as_json:
        for each in found:
            print(json.dumps(each, ensure_ascii=False))
        return 0
    console = table_console()
    if explain:
        for each in found:
            _print_steps(each, console)
        return 0
    table = plain_table()
    for title in ("address", "tier", "kind", "entry", "reason"):
        table.add_column(title, overflow="fold")
    for each in found:
        table.add_row(each["url"], str(each["tier"]), each["kind"] or "-", each["entry"] or "-", _reason(each))
    console.print(table)
    return 0


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
    from streams.cli.sources_import import ImportOptions, run_import

    settings = load_settings(config)
    if kind and kind not in settings.sources.kinds:
        known = ", ".join(settings.sources.kinds)
        raise typer.BadParameter(f"{kind!r} is not a kind; there are {known}", param_hint="'--kind'")
    target = out or user_file(OWN_SOURCES)
    if target is None:
        message = "the installed configuration must not be changed: name a file, or set ASSAY_CONFIG_DIR"
        raise typer.BadParameter(message, param_hint="'--out'")
    return run_import(settings, ImportOptions(file, target, kind or None, tier, dry_run, as_json))


def _address(text: str) -> str:
    url = text.strip() if "://" in text else f"https://{text.strip()}"
    if not host_of(url):
        raise typer.BadParameter(f"{text!r} has no host", param_hint="'URL...'")
    return url


def _described(url: str, publisher: str | None, rules: ScorePageRules, *, explain: bool) -> dict[str, Any]:
    lists = rules.compiled.sources
    source = source_at(url, publisher, "", lists)
    matched = source.entry or ""
    shipped = lists.listed.get(matched)
    entry = lists.own.get(matched) or shipped or lists.publishers.get(matched)
    answer = {
        "url": url,
        "tier": source.tier,
        "kind": source.kind,
        "tags": source.tags,
        "base_score": source.base_score,
        "entry": source.entry,
        "own": entry is not None and entry.own,
        "name": shipped.name if shipped else "",
        "country": shipped.country if shipped else "",
        "reason": source.reason,
        "because": source.because,
    }
    if explain:
        host = host_of(url)
        most = source.base_score + rules.trust_points.most
        answer["explain"] = {
            "host": host,
            "registered_domain": registered_domain(host),
            "tried": list(_tried(host, lists)),
            "publisher": publisher,
            "highest_score": most,
            "highest_label": highest_label(source, rules),
        }
    return answer


def highest_label(source: Source, rules: ScorePageRules) -> str:
    """The label of a page of this source with the highest possible score."""
    return label_of(source.base_score + rules.trust_points.most, source.tier, rules.compiled.labels)


def _tried(host: str, lists: SourceRules) -> Iterator[dict[str, Any]]:
    """Each suffix of the host, with its entries and its rule."""
    for suffix in host_suffixes(host):
        forms = [form for form in suffix_forms((suffix,), registered_domain(host)) if form in lists.suffixes]
        yield {
            "suffix": suffix,
            "own": _entry(lists.own.get(suffix)),
            "listed": _entry(lists.listed.get(suffix)),
            "rule": f"{forms[0]} ({lists.suffixes[forms[0]]})" if forms else None,
        }


def _entry(entry: ListedSource | None) -> str | None:
    if entry is None:
        return None
    decides = f"tier {entry.tier}" if entry.tier is not None else entry.kind
    return ", ".join(filter(None, (decides, entry.name, entry.country)))


def _reason(answer: dict[str, Any]) -> str:
    """The publisher and the reason, or the rule that decided."""
    known = ": ".join(filter(None, (answer["name"], answer["reason"])))
    return known if known and answer["because"].endswith(")") else ": ".join(filter(None, (answer["because"], known)))


def _print_steps(answer: dict[str, Any], console: Console) -> None:
    """The steps of one decision, and the decision last."""
    how = answer["explain"]
    console.print(answer["url"], style="bold", markup=False)
    table = plain_table()
    for title in ("suffix", "own entry", "shipped entry", "suffix rule"):
        table.add_column(title, overflow="fold")
    for step in how["tried"]:
        table.add_row(step["suffix"], step["own"] or "-", step["listed"] or "-", step["rule"] or "-")
    console.print(table)
    lines = {
        "registered": how["registered_domain"] or "none: a public suffix, an address or a local name",
        "publisher": how["publisher"] or "not given",
        "decided": answer["because"],
        "kind": answer["kind"] or "none",
        "reason": answer["reason"] or "none",
        "tier": f"{answer['tier']}, tags {', '.join(answer['tags']) or 'none'}",
        "score": f"{answer['base_score']} base points, {how['highest_score']} at most: {how['highest_label']}",
    }
    for name, value in lines.items():
        console.print(f"{name:11}{value}", markup=False)
    console.print()
