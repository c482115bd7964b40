"""Ranked results as a model sees them, and the prompts of analyst, critic and writer.

Sources are in the order of their trust. Each is a block of untrusted text below a trusted line with its label. A prompt
contains no score, rank or other number of trust (R-253, C-39) and no address: a model cites a source by its number.
Text that another role wrote is untrusted too, because it was made from pages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal

from pydantic import Field

from handlers.html.links import host_of
from handlers.prompts.label_forms import look_alike
from handlers.prompts.template import Prompts, render
from handlers.prompts.untrusted import Block, cleaned, in_blocks, nonce_over, one_line, sanitize
from handlers.reasoning.replies import Verdict
from handlers.text.patterns import WordList
from handlers.text.scripts import is_chinese
from handlers.trust.labels import LABELS, Label, label_mark
from schemas.needs import Message
from schemas.pages import TrustLabel
from schemas.ranking import RankedResult
from schemas.rules import Section

Language = Literal["zh", "en"]
Role = Literal["analyst", "critic", "writer"]
ROLES: tuple[Role, ...] = ("analyst", "critic", "writer")
"""In the order in which they are asked; each is also the name of its task and of its template."""
MAX_NAME_CHARACTERS = 60
_NAME_CHARACTERS_READ = 1000
_MAX_LINE_CHARACTERS = 300
_HOST = re.compile(r"[\w.:-]+")
_NAME_SIGNS = frozenset(".,&'’·-–+/|!@")
_NO_NAME = {"zh": "不明", "en": "unknown"}
_RATING_WORDS = frozenset(("trust", "tier", "cts", "label", "rank", "rated", "rating", "score"))
_RATING_VALUES = frozenset(label.casefold() for label in LABELS)
_ROLE_OR_SOURCE = re.compile(r"\b(?:system|assistant|user|source)\s*:|(?:來源|来源)\s*:|:\s*(?:high|medium|low)\b")
_CHINESE_RATING = re.compile(r"(?:可信|信任|信賴|信赖|信頼|可靠)[^。]{0,6}[高中低0-9]|[高低]度?(?:可信|信任)")
_SOURCE_WORD = {"zh": "來源：", "en": "Source: "}
_NO_FINDINGS = "(none; go by the sources)"


class RoleSection(Section):
    """What one role is shown."""

    least_label: TrustLabel = Field(description="Sources below this label are left out.")
    max_sources: int = Field(ge=1, le=100, description="Sources that are shown at most, the most trusted first.")


class CautionSection(Section):
    """The wording of a sentence that cites only LOW sources (R-255)."""

    words: WordList = Field(description="Cautious words of any language; a sentence with one gets no caution.")
    zh: str = Field(min_length=1, max_length=100, description="The caution before a sentence of a Chinese answer.")
    en: str = Field(min_length=1, max_length=100, description="The caution before a sentence of any other answer.")


class QuotesSection(Section):
    """Sentences of the sources that are the answer without a model."""

    sentences: int = Field(ge=1, le=100, description="Sentences that are quoted at most.")
    of_one_source: int = Field(ge=1, le=100, description="Of one source at most.")
    least_shared: int = Field(ge=1, le=20, description="Words of the question in sentence and title, or all if fewer.")
    least_covered: float = Field(ge=0, le=1, description="Share of the question's words in sentence and title.")
    least_in_sentence: float = Field(ge=0, le=1, description="Share of the question's words in the sentence alone.")
    of_the_best: float = Field(ge=0, le=1, description="Of the share of the best sentence of no less trusted sources.")
    least_words: int = Field(ge=1, le=50, description="Words of a sentence.")


class AnswerSection(Section):
    """How an answer is made of sources."""

    tries: int = Field(ge=1, le=5, description="How often a role is asked until its reply is in its protocol.")
    max_findings: int = Field(ge=1, le=100, description="Findings of the analyst that count, the first ones.")
    max_sentences: int = Field(ge=1, le=100, description="Sentences of an answer at most.")
    max_characters: int = Field(ge=50, le=5000, description="Of a finding, a remark or a sentence.")
    quotes: QuotesSection = Field(description="Which sentences of the sources answer if no model writes.")
    caution: CautionSection = Field(description="Wording of sentences that cite only LOW sources.")


class ReasoningSection(Section):
    """How contexts are written. The scores from which labels hold are in ``trust_labels`` alone (R-256)."""

    enabled: bool = Field(description="Whether results come with a context.")
    language: Literal["auto", "zh", "en"] = Field(description="Of the source lines; auto: that of the query.")
    max_characters: int = Field(ge=100, le=20_000, description="Of a source's passage.")
    max_context_characters: int = Field(ge=1000, le=1_000_000, description="Of all sources; later ones are left out.")
    analyst: RoleSection = Field(description="Finds what the sources say.")
    critic: RoleSection = Field(description="Compares the findings with the sources.")
    writer: RoleSection = Field(description="Writes the answer.")
    answer: AnswerSection = Field(description="How `assay answer` makes an answer of sources.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source, cited by its ``number`` from 1; ``name`` is the publisher's, and models do not see ``url``.

    ``copies`` are the hosts of other results with the same text.
    """

    number: int
    label: Label
    name: str
    title: str
    passage: str
    url: str
    date: str | None = None
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the analyst with the numbers of its sources, and the critic's verdict with its reason."""

    text: str
    sources: tuple[int, ...]
    verdict: Verdict | None = None
    because: str = ""


def order_sources(results: Iterable[RankedResult]) -> tuple[Source, ...]:
    """The relevant results as sources: HIGH first, then MEDIUM, then LOW, each in the order of the ranks (R-255).

    Results with the same text are one source, which is the most trusted of them.
    """
    groups: dict[str, list[RankedResult]] = {}
    for result in sorted(results, key=lambda result: (LABELS.index(result.trust_label), result.rank)):
        if result.relevant:
            groups.setdefault(result.copy_of or result.url, []).append(result)
    return tuple(
        Source(
            number=number,
            label=result.trust_label,
            name=plain_name(result.publisher or "") or plain_name(_site(result.url)),
            title=one_line(result.title, _MAX_LINE_CHARACTERS),
            passage=result.passage,
            url=result.url,
            date=result.date,
            copies=tuple(_site(copy.url) for copy in copies),
        )
        for number, (result, *copies) in enumerate(groups.values(), 1)
    )


def source_line(source: Source, language: Language) -> str:
    """The trusted line above a source's text (R-252): its label and the publisher's name."""
    return f"{label_mark(source.label)} {_SOURCE_WORD[language]}{source.name or _NO_NAME[language]}"


def plain_name(name: str) -> str:
    r"""A publisher's name for the trusted line, or "" if it cannot be shown there.

    It is one short line of letters, digits and a few signs, without brackets and colons, so it has no label's form. A
    name that rates a source, or names a role of a conversation, is not shown.

    >>> plain_name(" \u300c聯合報\u300d\u202e\n UDN "), plain_name("CNA: HIGH")
    ('聯合報 UDN', '')
    """
    whole = unicodedata.normalize("NFKC", sanitize(name[:_NAME_CHARACTERS_READ]))
    kept = (sign if sign in _NAME_SIGNS or unicodedata.category(sign)[0] in "LMN" else " " for sign in whole)
    plain = " ".join("".join(kept).split())[:MAX_NAME_CHARACTERS].strip()
    return plain if re.search(r"\w", plain) and not _rates(whole) and not _rates(plain) else ""


def _rates(name: str) -> bool:
    """Whether a name rates a source or names a role: "trust 95", "CNA - tier high", "可信度高", "SYSTEM:"."""
    like = look_alike(name)
    words = re.findall(r"[^\W_]+", like.casefold())
    ratings = _RATING_WORDS | _RATING_VALUES
    return (
        not set(LABELS).isdisjoint(re.findall(r"[^\W_]+", like))
        or any(one in _RATING_WORDS and (other in ratings or other.isdecimal()) for one, other in pairwise(words))
        or (len(words) > 1 and words[-1] in _RATING_VALUES)
        or any(one.search(text.casefold()) for one in (_ROLE_OR_SOURCE, _CHINESE_RATING) for text in (name, like))
    )


def language_of(query: str, section: ReasoningSection) -> Language:
    """The language of the source lines: the configured one, else Chinese for a query that is written in it.

    >>> from types import SimpleNamespace
    >>> [language_of(query, SimpleNamespace(language="auto")) for query in ("台積電 earnings", "heat pumps")]
    ['zh', 'en']
    """
    in_query: Language = "zh" if is_chinese(query) else "en"
    return in_query if section.language == "auto" else section.language


def source_blocks(sources: Sequence[Source], language: Language, section: ReasoningSection) -> Iterator[Block]:
    """The sources as blocks, made on demand, until they have ``section.max_context_characters`` together."""
    characters = 0
    for source in sources:
        if characters >= section.max_context_characters:
            return
        fields = {
            "site": _site(source.url),
            "title": source.title,
            "date": one_line(source.date or "", _MAX_LINE_CHARACTERS),
            "copies": ", ".join(source.copies),
            "text": cleaned(source.passage, section.max_characters),
        }
        content = {name: text for name, text in fields.items() if text}
        characters += sum(map(len, content.values()))
        yield Block(f"source {source.number}", content, source_line(source, language))


def context_of(blocks: Sequence[Block]) -> str:
    """Blocks of sources as one text."""
    return in_blocks(blocks, nonce_over([asdict(block) for block in blocks]))


def seen_by(role: Role, sources: Sequence[Source], section: ReasoningSection) -> tuple[Source, ...]:
    """The sources that a role is shown (R-254, R-258): none below its least label, no more than its number."""
    limits: RoleSection = getattr(section, role)
    shown = LABELS[: LABELS.index(limits.least_label) + 1]
    return tuple(source for source in sources if source.label in shown)[: limits.max_sources]


def role_messages(
    role: Role,
    query: str,
    sources: Sequence[Source],
    findings: Sequence[Finding],
    section: ReasoningSection,
    prompts: Prompts,
) -> tuple[Message, ...]:
    """A role's prompt, from all sources and the findings of the role before."""
    seen = seen_by(role, sources, section)
    untrusted: dict[str, str | Sequence[Block]] = {
        "query": query,
        "sources": [*source_blocks(seen, language_of(query, section), section)],
    }
    if findings:
        untrusted["findings"] = [*_finding_blocks(findings, seen)]
    return render(prompts[role], {"findings": _NO_FINDINGS}, untrusted)


def _finding_blocks(findings: Sequence[Finding], seen: Sequence[Source]) -> Iterator[Block]:
    """The findings, each below a trusted line with its number, its sources and the verdict."""
    labels = {source.number: source.label for source in seen}
    for number, finding in enumerate(findings, 1):
        by = [source for source in finding.sources if source in labels]
        caution = "only LOW sources" if {labels[source] for source in by} == {"LOW"} else None
        notes = filter(None, (f"sources {', '.join(map(str, by))}", caution, finding.verdict))
        reason = {"critic": finding.because} if finding.because else {}
        yield Block(f"finding {number}", {"text": finding.text, **reason}, f"Finding {number}: {'; '.join(notes)}")


def _site(url: str) -> str:
    """The host of an address; "" if it contains signs that no host has."""
    host = host_of(url)
    return host if _HOST.fullmatch(host) else ""
