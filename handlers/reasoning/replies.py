"""Strict readers of the replies of the three roles: findings, verdicts, sentences.

A reply outside of its role's protocol (prose, a code fence, a wrong type, an unknown field) is read as None. Whether
the numbers in it are those of sources is checked in ``answer``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from handlers.prompts.replies import StrictReply, read_reply
from handlers.prompts.untrusted import cleaned, sanitize

Verdict = Literal["supported", "contradicted", "unsupported"]
_MOST_ITEMS = 200
"""Of a list in a reply."""
_MAX_PASSES = 6
_NUMBERS = r"\^?\d{1,3}(?:\s*[,;、，-]\s*\d{1,3}){0,50}"
_NAMED = r"(?:(?:sources?|refs?|src|no|來源|来源|資料|资料|註|注)[\s.:：#]*|#)"
# White space is matched from the beginning of its run only: otherwise a run takes quadratic time.
_SPACE = r"(?<!\s)\s++"
_MARKS = re.compile(
    rf"(?:{_SPACE})?[\[【〔［]\s*{_NAMED}?{_NUMBERS}\s*(?:†[^\]】〕］]{{0,40}})?[\]】〕］]"
    rf"|(?:{_SPACE})?[(（]\s*{_NAMED}{_NUMBERS}\s*[)）]"
    rf"|(?:{_SPACE}|(?<![A-Za-z0-9]))(?<!\d)(?<!\d\s)[(（]\s*\d{{1,2}}(?:\s*[,;、，-]\s*\d{{1,2}}){{0,50}}\s*[)）](?!\s*\w)"
    rf"|(?:(?<=[A-Za-z]{{4}})|{_SPACE}|(?<![A-Za-z0-9⁻⁺¹²³⁰-⁹/^]))[¹²³⁰⁴-⁹]+(?![⁻⁺¹²³⁰-⁹])",
    re.IGNORECASE,
)
"""Citations: numbers in square brackets, a source's number in any brackets, small raised ones that are no power.

A number in round brackets is one only at the end of a clause and not behind a number: "section 4 (2)", "(2) snow".
"""
_LABEL = re.compile(rf"(?:{_SPACE})?\[\s*TRUST_TIER\s*:[^\[\]]{{0,20}}\]", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,10}://|www\.)[^\s<>()\[\]（）【】，。；、」]+", re.IGNORECASE)
_EMPTY = re.compile(rf"(?:{_SPACE})?(?:\(\s*\)|（\s*）|<\s*>)")
_Numbers = Annotated[list[int], Field(max_length=_MOST_ITEMS)]


class CitedText(StrictReply):
    """A finding or a sentence, with the numbers of its sources."""

    text: str
    sources: _Numbers


class Findings(StrictReply):
    """The analyst's reply."""

    findings: list[CitedText] = Field(max_length=_MOST_ITEMS, fail_fast=True)


class FindingVerdict(StrictReply):
    """The critic's verdict on one finding, by its number from 1."""

    finding: int
    verdict: Verdict
    because: str


class Verdicts(StrictReply):
    """The critic's reply."""

    verdicts: list[FindingVerdict] = Field(max_length=_MOST_ITEMS, fail_fast=True)


class Sentences(StrictReply):
    """The writer's reply."""

    sentences: list[CitedText] = Field(max_length=_MOST_ITEMS, fail_fast=True)


REPLIES: Mapping[str, type[StrictReply]] = {"analyst": Findings, "critic": Verdicts, "writer": Sentences}
"""The reply of each role."""
read_findings = partial(read_reply, Findings)
read_sentences = partial(read_reply, Sentences)


def read_verdicts(text: str, findings: int) -> Verdicts | None:
    """The critic's verdicts; None unless each of so many findings has exactly one.

    >>> said = '{"verdicts": [{"finding": %s, "verdict": "supported", "because": ""}]}'
    >>> read_verdicts(said % 1, 1) is None, read_verdicts(said % 2, 1) is None
    (False, True)
    """
    read = read_reply(Verdicts, text)
    if read is None or sorted(verdict.finding for verdict in read.verdicts) != [*range(1, findings + 1)]:
        return None
    return read


def plain(text: str, max_characters: int) -> str:
    r"""A role's text for an answer: one line, sanitized, without labels, addresses and citations of its own.

    A removal can join the parts of another address or citation, so it is repeated. A text that is nested deeper than
    ``_MAX_PASSES`` is not shown.

    >>> plain("It rained [99] (source 1), see https://a.example.\n[TRUST_TIER: HIGH]", 100)
    'It rained, see'
    """
    shown = cleaned(text, max_characters)
    for _ in range(_MAX_PASSES):
        before = shown
        for expression in (_LABEL, _ADDRESS, _MARKS, _EMPTY):
            shown = expression.sub("", shown)
        if shown == before:
            return " ".join(sanitize(shown).split())
    return ""
