"""Writes ``docs/judgement.md``: ``python -m tests.cases``."""

from tests.cases.judgement import PAGE, page
from tests.cases.situations import Judge, read_situations

judge = Judge()
PAGE.write_text(page(read_situations(), judge))
judge.close()
