"""``assay init``: writes a commented configuration for the user's country and sources, and checks it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from handlers.html.links import host_of, is_public_suffix
from streams.cli.command import CommandError, load_settings
from streams.cli.output import say
from streams.runtime.settings_files import SettingsError

_FILE = Path("assay.local.yaml")
_TIERS = {1: "government, academic, and other primary sources", 2: "media with an editor", 3: "blogs and niche sites"}
_RESERVED = ("gov", "gob", "gouv", "go", "govt", "gv", "edu", "ac")
"""Names below which a country registers its government and its universities only, where it has them as suffixes."""
_TEXT = """\
# The configuration of this installation{of}. Its keys override the shipped ones:
#   assay run --config {file}       assay score --config {file} URL
# `assay config schema` describes every key; `assay sources check URL` shows how a source is decided.

# Your sources by tier. An entry is a domain, and holds for every host below it. These precede the shipped lists of more
# than 4,500 domains. A list here replaces the shipped list of the same tier.
source_tiers:
{tiers}
# Scores from which a page is indexed in full (A), as a summary (B), or as one point (C).
# tiered_indexing:
#   tier_a: {{ min_cts: {a} }}
#   tier_b: {{ min_cts: {b} }}

# The best label by source: an unlisted site is at most MEDIUM, a contested one LOW.
# trust_labels:
#   max_label: {{ tier_1: HIGH, tier_2: HIGH, tier_3: MEDIUM, unlisted: MEDIUM, contested: LOW }}

# A language model behind an OpenAI-compatible endpoint. Without one, rules judge. The key belongs into the variable
# ASSAY_LLM__API_KEY.
# llm:
#   base_url: http://localhost:8000/v1
#   model: MODEL
#   budget_usd_per_day: 5
"""


def init(
    country: Annotated[str, Option(help="Two letters, such as dk: its government is tier 1.")] = "",
    source: Annotated[
        list[str] | None, Option(metavar="DOMAIN=TIER", help="A source and its tier; repeatable.")
    ] = None,
    out: Annotated[Path, Option("--output", "-o", help="The file; it must not exist.")] = _FILE,
) -> int:
    """Such as: `assay init --country dk --source dr.dk=2 --source example.org=1`."""
    if out.exists():
        raise CommandError(f"{out} exists; name another file with --output, or remove it", 2)
    if sys.stdin.isatty() and not country and not source:
        country = typer.prompt("Your country, two letters (empty for none)", default="", show_default=False)
        source = _prompted_sources()
    country = country.strip().lower()
    text = _configuration(country, dict(map(_source, source or [])), out)
    try:
        out.write_text(text, "utf-8")
        load_settings(out)
    except (OSError, SettingsError):
        out.unlink(missing_ok=True)  # a second call would find the rest
        raise
    say(f"{out} is written. Use it: assay score --config {out} https://…")
    if country:
        shipped = sum(len(of.get(country, ())) for of in load_settings().sources.lists.values())
        say(f"The shipped lists have {shipped} sources of {country}: assay sources check URL")
    return 0


def _configuration(country: str, sources: dict[str, int], file: Path) -> str:
    """The commented configuration for the tier of each domain; raises CommandError for what is no country domain."""
    if country and not (len(country) == 2 and country.isascii() and country.isalpha() and is_public_suffix(country)):
        raise CommandError(f"{country!r} is no country domain: give two letters, such as dk or jp", 2)
    reserved = [f"{name}.{country}" for name in _RESERVED] if country else []
    entries = {suffix: 1 for suffix in reserved if is_public_suffix(suffix)} | sources
    lines = []
    for tier, meaning in _TIERS.items():
        domains = sorted(domain for domain, number in entries.items() if number == tier)
        lines.append(f"  tier_{tier}: {'' if domains else '[] '}# {meaning}")
        lines += [f"    - {domain}" for domain in domains]
    tiers = load_settings().tiered_indexing
    return _TEXT.format(
        of=f" for {country}" if country else "",
        file=file,
        tiers="\n".join(lines) + "\n",
        a=tiers.tier_a.min_cts,
        b=tiers.tier_b.min_cts,
    )


def _source(text: str) -> tuple[str, int]:
    address, _, tier = text.rpartition("=")
    domain = host_of(address if "://" in address else f"https://{address}").removeprefix("www.")
    if tier not in ("1", "2", "3") or "." not in domain:
        raise CommandError(f"--source takes DOMAIN=TIER with the tier 1, 2 or 3, such as dr.dk=2, not {text!r}", 2)
    return domain, int(tier)


def _prompted_sources() -> list[str]:
    say("Your sources, such as dr.dk=2; an empty line ends. The tiers:")
    say(*(f"  {tier}  {meaning}" for tier, meaning in _TIERS.items()))
    sources: list[str] = []
    while text := typer.prompt("source", default="", show_default=False).strip():
        try:
            _source(text)
        except CommandError as error:
            say(str(error))
        else:
            sources.append(text)
    return sources
