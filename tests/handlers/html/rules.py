"""The shipped ``page_reading`` section and an outline of a piece of HTML, for the readers' tests."""

from handlers.html.content import PageFacts, PageReader
from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.hints import Hints
from handlers.html.layout import Layout
from handlers.html.main_content import Content, find_content
from handlers.html.outline import Outline
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules
from tests.rules import shipped_rules

RULES = shipped_rules(ScorePageRules)
READING = RULES.page_reading
PATTERNS = RULES.details
HINTS = Hints(READING)
READER = PageReader(READING, PATTERNS)


def outline_of(html: str, max_nodes: int = 10_000) -> Outline:
    return walk_page(parse_bytes(page_bytes(html).utf8), HINTS, max_nodes)


def layout_of(html: str) -> Layout:
    """The layout of a page by its heading and its content."""
    page = outline_of(html)
    return Layout(page, find_content(page, READING.content_trees.forest, 10_000))


def content_of(html: str, max_nodes: int = 10_000) -> Content:
    return find_content(outline_of(html, max_nodes), READING.content_trees.forest, 10_000)


def facts_of(html: str, url: str = "https://www.example.com/a") -> PageFacts:
    return READER.read(parse_bytes(page_bytes(html).utf8), url, None)
