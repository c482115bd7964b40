"""Every shipped prompt describes its blocks of untrusted text."""

import re
from pathlib import Path

import pytest

from tests.rules import PROMPTS

OURS = {"nonce", "tools", "rubric", "case"}
"""Placeholders whose values come only from us."""


@pytest.mark.parametrize("path", sorted(PROMPTS.glob("*.md")), ids=lambda path: path.stem)
def test_a_prompt_names_the_lines_around_what_others_wrote(path: Path) -> None:
    text = path.read_text("utf-8")
    named = set(re.findall(r"`<<end of (\w+)(?: N)? \{\{nonce\}\}>>`", text.partition("# user")[0]))
    for place in set(re.findall(r"\{\{(\w+)\}\}", text)) - OURS:
        assert named & {place, place.removesuffix("s"), "name"}, f"{path}: {place}"
