"""Writes ``docs/judgement.md`` and ``docs/states.md``: ``python -m tests.cases``."""

from tests.cases.judgement import PAGE, STATES_PAGE, page, states_page
from tests.cases.situations import read_situations
from tests.handlers.html.test_state import rows

PAGE.write_text(page(read_situations()))
STATES_PAGE.write_text(states_page(rows()))
