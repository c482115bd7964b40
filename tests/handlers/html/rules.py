"""The shipped ``page_reading`` section and an outline of a piece of HTML, for the readers' tests."""

from handlers.html.encoding import page_bytes, parse_bytes
from handlers.html.hints import Hints
from handlers.html.main_content import Content, find_content
from handlers.html.marks import Story, StoryWords, look_near
from handlers.html.outline import Outline
from handlers.html.walk import walk_page
from handlers.score_page import ScorePageRules
from handlers.text.patterns import compile_patterns
from tests.rules import shipped_rules

RULES = shipped_rules(ScorePageRules)
READING = RULES.page_reading
PATTERNS = compile_patterns(RULES.patterns).details
HINTS = Hints(READING)


def outline_of(html: str, max_nodes: int = 10_000) -> Outline:
    return walk_page(parse_bytes(page_bytes(html).utf8), HINTS, max_nodes)


def story_of(page: Outline, first: int = 0) -> Story:
    """The story of a page whose main text begins at the text ``first``."""
    return Story(page, look_near(page, first), StoryWords(READING))


def content_of(html: str, max_nodes: int = 10_000) -> Content:
    return find_content(outline_of(html, max_nodes), READING.content_forest, 10_000)
