"""The tables of ``docs/capacity.md``, between its two marks: forecasts for pages, and the costs that they come from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from handlers.indexing.config import TieredIndexingSection
from streams.capacity.costs import Costs, read_costs
from streams.capacity.forecast import Forecast, Load, Setup, forecast
from streams.index.settings import IndexSettings
from streams.topology.text import to_table

PAGE = Path("docs/capacity.md")
BEGIN, END = "<!-- Written by `assay generate` from config/costs.yaml. -->", "<!-- end of the written tables -->"
COPIES = 3
LOADS = tuple(10.0**power for power in range(4, 10))
"""Pages in a day."""
PRICES = (1.0, 4.0)
"""Of a million tokens of prompts and of replies, in USD, in the table of models."""


def capacity_page(root: Path, document: dict[str, Any]) -> dict[Path, str]:
    """The page of a checkout with new tables; nothing if the checkout has no such page."""
    if not (root / PAGE).is_file():
        return {}
    page = (root / PAGE).read_text("utf-8")
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE} has not both of the marks {BEGIN} and {END}")
    costs = read_costs(root / "config")
    tables = "\n\n".join([_forecasts(costs, document), _handlers(costs), _topics(costs), _models(costs)])
    return {PAGE: f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}"}


def _forecasts(costs: Costs, document: dict[str, Any]) -> str:
    index = IndexSettings.model_validate(document.get("index", {}))
    tiers = TieredIndexingSection.model_validate(document["tiered_indexing"])
    setup = Setup(COPIES, tiers, index.planned_chunks, index.embedder.dimensions, {})
    rows = []
    for pages in LOADS:
        load = Load(pages=pages, page_bytes=costs.page_bytes)
        rows.append([f"{pages:,.0f}", *_cells(forecast(load, costs, setup))])
    heads = [
        "pages a day",
        "a second",
        "replicas",
        "partitions",
        "memory",
        "brokers' cores",
        "Kafka",
        "points",
        "vectors",
    ]
    return to_table(heads, rows)


def _cells(found: Forecast) -> Iterable[str]:
    scoring = found.handlers[0]
    yield f"{scoring.peak_rate:,.3g}" if scoring.peak_rate < 100 else f"{scoring.peak_rate:,.0f}"
    yield " + ".join(f"{its.replicas:,}" for its in found.handlers)
    yield f"{max(its.partitions for its in found.handlers):,}"
    yield _size(found.memory_bytes)
    yield f"{found.broker_cores:,.2g}" if found.broker_cores < 10 else f"{found.broker_cores:,.0f}"
    yield _size(found.kafka_bytes)
    yield (
        f"{found.index_points / 1e6:,.3g} million"
        if found.index_points < 1e9
        else f"{found.index_points / 1e9:,.3g} billion"
    )
    yield _size(found.index_bytes)


def _handlers(costs: Costs) -> str:
    rows = [
        (f"`{name}`", f"{1000 * cost.seconds(costs.page_bytes):.3g}", f"{3600 / cost.seconds(costs.page_bytes):,.0f}")
        for name, cost in costs.handlers.items()
    ]
    return to_table(("handler", "ms of CPU for one input", "inputs an hour of one core"), rows)


def _topics(costs: Costs) -> str:
    rows = [(f"`{name}`", f"{cost.size(costs.page_bytes):,.0f}") for name, cost in costs.topics.items()]
    return to_table(("topic", "bytes of a record on disk"), rows)


def _models(costs: Costs) -> str:
    price_in, price_out = PRICES
    rows = []
    for name, cost in costs.models.items():
        usd = 1000 * (price_in * cost.tokens_in + price_out * cost.tokens_out) / 1e6
        rows.append((f"`{name}`", f"{cost.tokens_in:,.0f}", f"{cost.tokens_out:,.0f}", f"{usd:.2g}"))
    prices = f"USD a thousand, at {price_in:g} USD a million in, {price_out:g} out"
    return to_table(("question of", "tokens in", "tokens out, at most", prices), rows)


def _size(count: float) -> str:
    """Bytes in powers of ten, as disks are sold.

    >>> _size(2_600_000_000_000)
    '2.6 TB'
    """
    unit = "MB"
    count /= 1e6
    for larger in ("GB", "TB", "PB"):
        if count < 1000:
            break
        count, unit = count / 1000, larger
    return f"{count:.3g} {unit}"
