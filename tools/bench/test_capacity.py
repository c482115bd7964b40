"""Costs are calibrated in the units of ``config/costs.yaml``."""

from streams.capacity.costs import read_costs
from streams.runtime.settings_files import config_dir
from streams.topology import PAGES_CRAWLED, PAGES_SCORED
from tools.bench.capacity import Measured, calibrated


def test_runs_that_cost_what_the_file_says_give_its_figures() -> None:
    costs = read_costs(config_dir())
    crawled, scored = costs.topics[PAGES_CRAWLED.name], costs.topics[PAGES_SCORED.name]
    two = [
        Measured(
            pages,
            size,
            pages * costs.handlers["score_page"].seconds(size),
            pages * costs.broker.seconds(size),
            round(pages * crawled.size(size)),
            round(pages * scored.size(size)),
            0.0,
        )
        for pages, size in ((1_000, 274_000.0), (3_000, 46_000.0))
    ]
    worker, broker = costs.handlers["score_page"], costs.broker
    assert calibrated(two) == [
        f"handlers.score_page: {{milliseconds: {worker.milliseconds}, per_root_kilobyte: {worker.per_root_kilobyte}}}",
        f"broker: {{milliseconds: {broker.milliseconds}, per_kilobyte: {broker.per_kilobyte}}}",
        f"topics.pages.crawled.v1: {{bytes: {crawled.bytes:g}, per_byte: {crawled.per_byte}}}",
        f"topics.pages.scored.v1: {{bytes: {scored.bytes:g}, per_byte: 0}}",
    ]
