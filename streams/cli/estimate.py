"""``assay estimate``: estimates the points of an index and the size of its vectors."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text
from typer import Option

from schemas.pages import ScoredPage
from streams.cli.output import TIER_STYLE, AsJson, Config, load_settings, plain_table, say_json, table_console, tell
from streams.cli.progress import read_events
from streams.index.estimate import FLOAT_BYTES, IndexEstimate, SampledPages, estimate_points, parse_mix
from streams.settings.model import Settings
from streams.topology import PAGES_SCORED
from streams.views.amounts import in_bytes

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
        return tell("estimate", "--input takes mix and chunks from the pages; leave --mix and --chunks out", 2)
    if articles is not None and articles < 1:
        return tell("estimate", f"--articles takes a number of at least 1, not {articles}", 2)
    dimensions = settings.index.embedder.dimensions
    if sample is not None:
        return _estimate_from(sample, articles, settings, dimensions, as_json)
    chunks = settings.index.planned_chunks if chunks is None else chunks
    if not (isfinite(chunks) and chunks > 0):
        return tell("estimate", f"--chunks takes a number above 0, not {chunks:g}", 2)
    try:
        shares = parse_mix(ASSUMED_MIX if mix is None else mix)
    except ValueError as error:
        return tell("estimate", f"--mix {error}", 2)
    found = estimate_points(articles or ASSUMED_ARTICLES, shares, chunks, settings.tiered_indexing)
    basis = {"assumed": {"chunks": chunks}, "sampled": None}
    return _report(found, f", {chunks:g} chunks each on average", basis, dimensions, as_json)


def _estimate_from(sample: Path, articles: int | None, settings: Settings, dimensions: int, as_json: bool) -> int:
    seen = SampledPages(settings.tiered_indexing, settings.index_points)
    passed_over = 0
    try:
        for line in read_events("estimate", sample, PAGES_SCORED):
            if isinstance(line.event, ScoredPage):
                seen.add(line.event)
            else:
                passed_over += 1
    except OSError as error:
        return tell("estimate", f"{sample}: {error.strerror}", 1)
    count = seen.pages.total()
    if not count:
        return tell("estimate", f"{sample}: no line holds a scored page (see `assay try score_page`)", 1)
    basis = {"assumed": None, "sampled": {"pages": count, "passed_over": passed_over}}
    pages = "scored page" if count == 1 else f"{count:,} scored pages"
    left = f" (lines without one: {passed_over:,})" if passed_over else ""
    found = seen.estimate(articles or count)
    return _report(found, f" like the {pages} of the sample{left}", basis, dimensions, as_json)


def _report(found: IndexEstimate, in_words: str, basis: dict[str, Any], dimensions: int, as_json: bool) -> int:
    if not as_json:
        show_estimate(found, in_words, dimensions)
        return 0

    def counted(points: int) -> dict[str, Any]:
        saved = found.saved(points)
        vectors = {"vector_bytes": points * dimensions * FLOAT_BYTES}
        return {"points": points, "saved": None if saved is None else round(saved, 6)} | vectors

    tiers = {
        tier.tier: {
            "chunking": tier.chunking,
            "articles": tier.articles,
            "share": tier.articles / found.articles,
            "full_chunks": tier.full_chunks,
            "points": tier.points,
            "article_embeddings": tier.article_embeddings,
            "points_with_article_embeddings": tier.points_with_articles,
        }
        for tier in found.tiers
    }
    full = {"points": found.full_chunks, "vector_bytes": found.full_chunks * dimensions * FLOAT_BYTES}
    document = {"articles": found.articles, **basis, "dimensions": dimensions, "tiers": tiers, "untiered": full}
    with_articles = {"tiered_with_article_embeddings": counted(found.points_with_articles)}
    say_json(document | {"tiered": counted(found.points)} | with_articles)
    return 0


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
    most = estimate.points_with_articles
    longest = max(estimate.full_chunks, most)
    for name, points, saved, style in (
        ("every article in full", estimate.full_chunks, None, "dim"),
        ("by tier", estimate.points, estimate.saved(estimate.points), "bold"),
        ("  + article embeddings", most, estimate.saved(most), ""),
    ):
        table.add_row(
            name,
            f"{points:,}",
            "" if saved is None else Text(f"{-100 * saved:+.3g} %", style="green" if saved > 0 else "red"),
            in_bytes(points * dimensions * FLOAT_BYTES),
            Text("█" * round(_BAR_WIDTH * points / longest), style="dim"),
            style=style,
        )
    console.print(table)
