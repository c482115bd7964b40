"""The map of a record's path names what exists, and each of its steps is marked in the code."""

from __future__ import annotations

import re
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import streams.pipeline
from tests.samples import ROOT

MAP = streams.pipeline.__doc__ or ""


def test_the_names_and_files_of_the_map_exist() -> None:
    names = re.findall(r"``([a-z_]+)\.([A-Z]\w*\.\w+)``", MAP)
    assert len(names) >= 9
    for module, name in names:
        attrgetter(name)(import_module(f"streams.pipeline.{module}"))
    for file in re.findall(r"``([\w/]+/\w+\.py)``", MAP):
        assert (ROOT / file).exists() or (ROOT / "streams" / file).exists(), file


def test_each_step_of_the_map_is_marked_in_the_code() -> None:
    code = "".join(path.read_text("utf-8") for path in Path(ROOT / "streams").glob("[pw]*/*.py"))
    steps = re.findall(r"^(\d)\. ", MAP, re.MULTILINE)
    assert steps == [str(number) for number in range(1, 10)]
    assert all(f"# Step {number}. " in code for number in steps)
