"""No regular expression takes more than linear time on untrusted text."""

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
import regex

from tests.contract.pumping import Expression, grows_too_fast
from tests.samples import ROOT
from tests.tables import tables

TABLES = tables(__file__)

BOUNDED = {
    "streams/topology/text.py:_joined": "reads lines of docstrings of this repository",
    "streams/topology/text.py:_REFERENCES": "reads pages that are generated from this repository",
    "streams/generate/monitoring.py:_SERIES": "reads rules and panels of this repository",
    "streams/generate/monitoring.py:_MATCHED": "reads rules and panels of this repository",
    "streams/generate/monitoring.py:_GROUPED": "reads rules and panels of this repository",
    "handlers/html/styles.py:_COMMENT": "reads 2,000 characters of a style",
}
"""Places whose expressions are not pumped, with the bound of what they read."""
ONLY_AT_START = {
    "handlers/html/encoding.py:_ROOT": "match() at the beginning of the first 4,096 bytes",
    "handlers/html/state.py:_CODE": "fullmatch() of a part of a title or heading",
    "handlers/html/limits.py:_REST": "match() at places so far apart as the bytes that it reads",
    "streams/fetch/robots.py:_AGENT_LINE": "match() at the beginning of each line",
    "streams/fetch/robots.py:_DELAY_LINE": "match() at the beginning of each line",
    "schemas/addresses.py:_USER": "match() at the beginning of an address",
    "streams/cli/sources.py:_DOMAIN": "fullmatch() of a name of at most 253 characters",
}
"""Places whose expressions are only matched at the beginning of a text: they are pumped there alone."""
NOT_COMPILED = {
    "handlers/reasoning/answer.py:_Run._is_cautious": "an escaped word of the configuration, without a repetition",
    "streams/cli/replay.py:_plan_name": "reads an option of the command line",
}
"""Places whose expressions are computed and not compiled by the handlers' decisions on the golden examples."""


@cache
def compiled_expressions() -> dict[Expression, set[str]]:
    """All expressions of ``schemas``, ``handlers`` and ``streams``, each with its places."""
    command = [sys.executable, "-m", "tests.contract.compiled_expressions"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    found: dict[Expression, set[str]] = {}
    for line in map(json.loads, lines):
        pattern = line.get("pattern")
        if pattern is None:
            assert line["place"] in NOT_COMPILED, f"{line['place']} is not reached: call it in compiled_expressions.py"
            continue
        given = pattern.encode("latin-1") if line["bytes"] else pattern
        library: Any = regex if r"\p{" in pattern else re
        found.setdefault(library.compile(given, line["flags"]), set()).add(line["place"])
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_expression_takes_linear_time() -> None:
    slow = []
    for expression, places in compiled_expressions().items():
        if places <= BOUNDED.keys():
            continue
        if (text := grows_too_fast(expression, at_start=places <= ONLY_AT_START.keys())) is not None:
            slow.append(f"{', '.join(sorted(places))}: {text}")
    assert not slow, "not linear (make repetitions possessive, or state the bound of the input):\n" + "\n".join(slow)


@pytest.mark.slow
def test_the_tables_name_places_that_exist() -> None:
    places = set().union(*compiled_expressions().values())
    assert len(compiled_expressions()) > 250
    assert BOUNDED.keys() | ONLY_AT_START.keys() <= places


@pytest.mark.slow
@pytest.mark.parametrize(
    "pattern",
    [
        *TABLES["an_expression_that_backtracks_is_found"],
        rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]+)",
    ],
)
def test_an_expression_that_backtracks_is_found(pattern: str | bytes) -> None:
    assert grows_too_fast(re.compile(pattern)) is not None
