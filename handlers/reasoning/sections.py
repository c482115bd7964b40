"""The section ``reasoning`` of ``config/ranking.yaml``: what a model reads of the results, in each of its roles."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.pages import TrustLabel
from schemas.rules import Section


class RoleSection(Section):
    """What one role is shown."""

    least_label: TrustLabel = Field(description="Sources below this label are left out (R-254, R-258).")
    max_sources: int = Field(ge=1, le=100, description="Sources that are shown at most, the most trusted first.")


class CautionSection(Section):
    """The wording of a sentence of LOW sources alone (R-255)."""

    words: tuple[str, ...] = Field(description="A sentence that has one of these is cautious already; any language.")
    zh: str = Field(min_length=1, max_length=100, description="Put before a Chinese sentence that has none.")
    en: str = Field(min_length=1, max_length=100, description="Put before any other sentence that has none.")


class QuotesSection(Section):
    """Which sentences of the sources are the answer without a model."""

    sentences: int = Field(ge=1, le=100, description="Sentences that are quoted at most.")
    of_one_source: int = Field(ge=1, le=100, description="Of one source at most.")
    least_shared: int = Field(
        ge=1, le=20, description="Words of the question that both have together; all of them where it has fewer."
    )
    least_covered: float = Field(
        ge=0, le=1, description="Share of the question's words that a sentence and its page's title have together."
    )
    least_in_sentence: float = Field(ge=0, le=1, description="Share that the sentence has by itself.")
    of_the_best: float = Field(
        ge=0, le=1, description="Share that it has of what the best sentence of equally or more trusted sources has."
    )
    least_words: int = Field(ge=1, le=50, description="Words of a sentence.")


class AnswerSection(Section):
    """How an answer is made of sources."""

    tries: int = Field(ge=1, le=5, description="How often a role is asked whose reply is not in its protocol.")
    max_findings: int = Field(ge=1, le=100, description="Findings of the analyst that count, the first ones.")
    max_sentences: int = Field(ge=1, le=100, description="Sentences of an answer at most.")
    max_characters: int = Field(ge=50, le=5000, description="Of a finding, a remark or a sentence.")
    quotes: QuotesSection = Field(description="Which sentences of the sources answer where no model writes.")
    caution: CautionSection = Field(description="Wording of what only LOW sources say.")


class ReasoningSection(Section):
    """How contexts are written. From which score on a label holds is in ``trust_labels`` alone (R-256)."""

    enabled: bool = Field(description="Whether results come with a context (R-257).")
    language: Literal["auto", "zh", "en"] = Field(description="Of the source lines; auto: that of the query.")
    max_characters: int = Field(ge=100, le=20_000, description="Of a source's passage.")
    max_context_characters: int = Field(
        ge=1000, le=1_000_000, description="Of all sources together; the sources after that are left out."
    )
    analyst: RoleSection = Field(description="Finds what the sources say.")
    critic: RoleSection = Field(description="Holds the findings against the sources.")
    writer: RoleSection = Field(description="Writes the answer.")
    answer: AnswerSection = Field(description="How `assay answer` makes an answer of sources.")
