"""Hostile pages take ``score_page`` at most a few times as long as an ordinary page of their size."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from handlers.score_page import ScorePageRules, score_page
from schemas.pages import CrawledPage
from tests.cpu import cpu_seconds
from tests.handlers.html.hostile import ORDINARY, SHAPES
from tests.rules import shipped_rules

ROOT = Path(__file__).parents[3]
RULES = shipped_rules(ScorePageRules)
MOST_MEGABYTES = 400
MOST_TIMES_ORDINARY = 3
"""Of the largest page. The slowest shape was measured at 1.5 times the 0.8 seconds of an ordinary page."""
SIZE = 400_000
MOST_TIMES_ORDINARY_OF_SIZE = 15
"""Of a smaller page, which has not more nodes than are read. The slowest shape was measured at 6 times."""


def seconds(body: bytes) -> float:
    page = CrawledPage(url="https://hostile.example/", html_base64=body)
    return cpu_seconds(lambda: score_page(page, RULES))


@pytest.fixture(scope="module")
def ordinary() -> float:
    """CPU seconds for an ordinary page."""
    return min(seconds(ORDINARY(SIZE)) for _ in range(3))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_takes_a_few_times_as_long_as_an_ordinary_page(name: str, ordinary: float) -> None:
    """Quadratic time would be a hundred times as long."""
    body = SHAPES[name](SIZE)
    most = MOST_TIMES_ORDINARY_OF_SIZE * ordinary
    assert seconds(body) < most or seconds(body) < most


def test_parser_names_are_counted_early_in_a_page(ordinary: float) -> None:
    """A page of 0.9 MB took longer than any of 8 MB: none of the names in its first 400,000 bytes was counted."""
    assert seconds(SHAPES["names"](900_000)) < 10 * ordinary


@cache
def of_the_largest_page(name: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of a process that scores a page of a shape with all allowed bytes and tags.

    The kernel counts the peak since the process began its own program; that of ``resource`` may be its parent's.
    """
    program = """
import json, re, sys
from schemas.pages import MAX_PAGE_BYTES
from tests.handlers.html.hostile import ORDINARY, SHAPES
from tests.handlers.html.test_hostile_pages import RULES, seconds
seconds(b"<p>")
body = SHAPES.get(sys.argv[1], ORDINARY)(MAX_PAGE_BYTES)[:MAX_PAGE_BYTES]
spent = seconds(b"<".join(body.split(b"<")[: RULES.page_reading.max_tags]))
peak = re.search("VmHWM:[\\t ]*([0-9]+) kB", open("/proc/self/status").read())
print(json.dumps([spent, int(peak[1]) / 1024]))
"""
    command = [sys.executable, "-c", program, name]
    spent, memory = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return spent, memory


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_largest_page_of_each_shape_has_bounded_time_and_memory(name: str) -> None:
    ordinary, _ = of_the_largest_page("ordinary")
    spent, memory = of_the_largest_page(name)
    assert spent < MOST_TIMES_ORDINARY * ordinary, f"{spent:.2f} s, an ordinary page takes {ordinary:.2f} s"
    assert memory < MOST_MEGABYTES
