"""What ``assay estimate`` shows people: points by tier, and the three sums with what their vectors take."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from streams.commands.tables import plain_table, table_console
from streams.index.estimate import FLOAT_BYTES, IndexEstimate

TIER_STYLE = {"A": "green", "B": "yellow", "C": "red"}
_BAR_WIDTH = 20


def show_estimate(estimate: IndexEstimate, basis: str, dimensions: int) -> None:
    """Prints an estimate.

    Args:
        estimate: The counts.
        basis: What they rest on, in words that follow the number of articles.
        dimensions: Numbers of a vector.
    """
    console = table_console()
    vectors = f"; vectors of {dimensions:,} x {FLOAT_BYTES} bytes"
    console.print(
        Text.assemble(
            (f"{estimate.articles:,} article{'' if estimate.articles == 1 else 's'}", "bold"), basis, (vectors, "dim")
        ),
        soft_wrap=True,
    )
    console.print()
    console.print(_tiers(estimate))
    console.print()
    console.print(_sums(estimate, dimensions))


def _tiers(estimate: IndexEstimate) -> Table:
    table = _table("tier", "chunking")
    for name in ("share", "articles", "points each", "points", "article embeddings"):
        table.add_column(name, justify="right", no_wrap=True)
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
    return table


def _sums(estimate: IndexEstimate, dimensions: int) -> Table:
    table = _table("the index")
    for name in ("points", "", "vectors"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    rows = (
        ("every article in full", estimate.full_chunks, None, "dim"),
        ("by tier", estimate.points, estimate.saved(estimate.points), "bold"),
        (
            "  + article embeddings",
            estimate.points_with_articles,
            estimate.saved(estimate.points_with_articles),
            "",
        ),
    )
    longest = max(estimate.full_chunks, estimate.points_with_articles)
    for name, points, saved, style in rows:
        table.add_row(
            name,
            f"{points:,}",
            "" if saved is None else Text(f"{-100 * saved:+.3g} %", style="green" if saved > 0 else "red"),
            size_in_words(points * dimensions * FLOAT_BYTES),
            Text("█" * round(_BAR_WIDTH * points / longest), style="dim"),
            style=style,
        )
    return table


def _table(*columns: str) -> Table:
    table = plain_table()
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def size_in_words(count: float) -> str:
    """Bytes in the unit in which they are shortest.

    >>> size_in_words(24_000_000 * 512 * 4)
    '45.8 GiB'
    """
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if count < 1024:
            break
        count, unit = count / 1024, larger
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
