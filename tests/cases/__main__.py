"""Writes ``docs/judgement.md``: ``python -m tests.cases``."""

from tests.cases.judgement import PAGE, page
from tests.cases.situations import read_situations

PAGE.write_text(page(read_situations()))
