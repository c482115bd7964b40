"""``assay estimate``: estimates the points of an index and the size of its vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text
from typer import Option

from schemas.pages import ScoredPage
from streams.cli.command import AsJson, CommandError, Config, load_settings
from streams.cli.output import TIER_STYLE, plain_table, say_json, table_console
from streams.cli.progress import read_events
from streams.index.estimate import FLOAT_BYTES, IndexEstimate, SampledPages, estimate_points, parse_mix
from streams.runtime.amounts import in_bytes
from streams.settings.model import Settings
from streams.topology import PAGES_SCORED

ASSUMED_ARTICLES = 10_000_000
ASSUMED_MIX = "10/50/40"


def estimate(
    articles: Annotated[int | None, Option(help="Articles; 10 million, or those of --input, by default.")] = None,
    mix: Annotated[str | None, Option(help="Percentages of tiers A/B/C; 10/50/40 by default.")] = None,
    chunks: Annotated[float | None, Option(help="Chunks of an article; index.planned_chunks by default.")] = None,
    sample: Annotated[Path | None, Option("--input", help="Scored pages, one a line; - for standard input.")] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> int:
    settings = load_settings(config)
    if sample is not None and (mix is not None or chunks is not None):
        raise CommandError("--input takes mix and chunks from the pages; leave --mix and --chunks out", 2)
    if articles is not None and articles < 1:
        raise CommandError(f"--articles takes a number of at least 1, not {articles}", 2)
    basis_of = _sampled(sample, articles, settings) if sample else _assumed(articles, mix, chunks, settings)
    found, in_words, basis = basis_of
    dimensions = settings.index.embedder.dimensions
    if not as_json:
        show_estimate(found, in_words, dimensions)
        return 0
    tiers = {tier.tier: asdict(tier) | {"share": tier.articles / found.articles} for tier in found.tiers}
    totals = {
        name: {"points": points, "vector_bytes": points * dimensions * FLOAT_BYTES}
        | ({} if name == "untiered" else {"saved": found.saved(points)})
        for name, _, points, _ in _totals(found)
    }
    say_json({"articles": found.articles, **basis, "dimensions": dimensions, "tiers": tiers, **totals})
    return 0


Basis = tuple[IndexEstimate, str, dict[str, Any]]
"""An estimate, and what it is based on: in words, and for programs."""


def _assumed(articles: int | None, mix: str | None, chunks: float | None, settings: Settings) -> Basis:
    chunks = settings.index.planned_chunks if chunks is None else chunks
    if not (isfinite(chunks) and chunks > 0):
        raise CommandError(f"--chunks takes a number above 0, not {chunks:g}", 2)
    try:
        shares = parse_mix(mix or ASSUMED_MIX)
    except ValueError as error:
        raise CommandError(str(error), 2) from None
    found = estimate_points(articles or ASSUMED_ARTICLES, shares, chunks, settings.tiered_indexing)
    return found, f", {chunks:g} chunks each on average", {"assumed": {"chunks": chunks}, "sampled": None}


def _sampled(sample: Path, articles: int | None, settings: Settings) -> Basis:
    seen = SampledPages(settings.tiered_indexing, settings.index_points)
    passed_over = 0
    for line in read_events("estimate", sample, PAGES_SCORED):
        if isinstance(line.event, ScoredPage):
            seen.add(line.event)
        else:
            passed_over += 1
    count = seen.pages.total()
    if not count:
        raise CommandError(f"{sample}: no line holds a scored page (see `assay try score_page`)")
    pages = "scored page" if count == 1 else f"{count:,} scored pages"
    left = f" (lines without one: {passed_over:,})" if passed_over else ""
    basis = {"assumed": None, "sampled": {"pages": count, "passed_over": passed_over}}
    return seen.estimate(articles or count), f" like the {pages} of the sample{left}", basis


def _totals(found: IndexEstimate) -> Sequence[tuple[str, str, int, str]]:
    """The points of the index by what is indexed: its name for programs and for people, and the style of its row."""
    return (
        ("untiered", "every article in full", found.full_chunks, "dim"),
        ("tiered", "by tier", found.points, "bold"),
        ("tiered_with_article_embeddings", "  + article embeddings", found.points_with_articles, ""),
    )


_BAR_WIDTH = 20


def show_estimate(estimate: IndexEstimate, in_words: str, dimensions: int) -> None:
    console = table_console()
    articles = f"{estimate.articles:,} article{'' if estimate.articles == 1 else 's'}"
    vectors = f"; vectors of {dimensions:,} x {FLOAT_BYTES} bytes"
    console.print(Text.assemble((articles, "bold"), in_words, (vectors, "dim")), soft_wrap=True)
    console.print()
    numbers = ("share", "articles", "points each", "points", "article embeddings")
    table = plain_table("tier", "chunking", numbers=numbers)
    for tier in estimate.tiers:
        table.add_row(
            Text(tier.tier, style=TIER_STYLE[tier.tier]),
            tier.chunking,
            f"{100 * tier.articles / estimate.articles:.3g} %",
            f"{tier.articles:,}",
            f"{tier.points / tier.articles:.4g}" if tier.articles else "-",
            f"{tier.points:,}",
            f"+ {tier.article_embeddings:,}" if tier.article_embeddings else "",
        )
    console.print(table)
    console.print()
    table = plain_table("the index", numbers=("points", "", "vectors"))
    table.add_column(no_wrap=True)
    longest = max(points for _, _, points, _ in _totals(estimate))
    for _, name, points, style in _totals(estimate):
        saved = estimate.saved(points)
        table.add_row(
            name,
            f"{points:,}",
            "" if not saved else Text(f"{-100 * saved:+.3g} %", style="green" if saved > 0 else "red"),
            in_bytes(points * dimensions * FLOAT_BYTES),
            Text("█" * round(_BAR_WIDTH * points / longest), style="dim"),
            style=style,
        )
    console.print(table)
