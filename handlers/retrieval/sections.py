"""The ``search_evaluation`` section of the configuration: points and bands of the rubric."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from schemas.event import Score
from schemas.rules import Section

Words = tuple[str, ...]


class CountPoints(Section):
    """Points for the number of results (R-084); each bound belongs to the higher part (C-12)."""

    none: float = Field(default=-0.4, description="No result.")
    few: float = Field(default=-0.2, description="Below acceptable_from.")
    acceptable: float = Field(default=0.1, description="From acceptable_from on.")
    many: float = Field(default=0.2, description="From many_from on.")
    acceptable_from: int = Field(default=3, ge=1, description="Results that are acceptable.")
    many_from: int = Field(default=5, ge=1, description="Results that are many.")


class FieldRule(Section):
    """How a required field is found in results (R-085)."""

    names: Words = Field(min_length=1, description="How requests call the field, in lower case.")
    part: str = Field(
        default="text",
        pattern="^(title|url|text)$",
        description="What of a result has it: title or url if there is one; text if one of the words is in it.",
    )
    words: Words = Field(default=(), description="Words and signs that show the field in a text, in lower case.")
    offer: bool = Field(default=False, description="Whether only something on offer has it.")
    refinements: Words = Field(default=(), description="What to suggest where it is missing; none: missing_field.")


class DiversityPoints(Section):
    """Points for where results come from (R-087)."""

    domains: float = Field(default=0.1, description="Enough registrable domains.")
    domains_from: int = Field(default=3, ge=1, description="Registrable domains that are enough.")
    retailer_types: float = Field(default=0.1, description="At least two kinds of shops.")
    one_domain: float = Field(default=-0.1, description="All results from one domain.")


class RelevancePoints(Section):
    """Points for what results say (R-088)."""

    keywords: float = Field(default=0.1, description="Enough results are about the goal.")
    keywords_coverage: Score = Field(
        default=0.5, description="Share of what the goal asks for that a result must have."
    )
    keywords_share: Score = Field(default=0.5, description="Share of results that are enough.")
    transactional: float = Field(default=0.1, description="Some result sells.")
    most_off_goal: Score = Field(
        default=0.3, description="Total at most where too few results are about the goal; below bands.acceptable."
    )
    irrelevant: float = Field(default=-0.1, description="More than half are reviews, forums or general knowledge.")


class Bands(Section):
    """Where a quality score leads, half-open: each bound belongs to the band above it (R-089, C-15)."""

    high: Score = Field(default=0.8, description="From here on the search is done.")
    acceptable: Score = Field(default=0.6, description="From here on it is done unless something specific is missing.")
    marginal: Score = Field(default=0.4, description="From here on a refined query; below it another one altogether.")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.marginal <= self.acceptable <= self.high:
            raise ValueError("bands are not in order")
        return self


class Refinements(Section):
    """What is suggested for each weakness (R-090 to R-093)."""

    another_query: Words = Field(default=(), description="A poor score.")
    low_count: Words = Field(default=(), description="Too few results.")
    missing_field: Words = Field(default=(), description="A field is missing; {field} is replaced by its name (R-091).")
    poor_relevance: Words = Field(default=(), description="Results miss the goal.")
    low_diversity: Words = Field(default=(), description="Results come from too few places.")
    low_diversity_shopping: Words = Field(default=(), description="The same, where the goal is to buy.")


class SearchEvaluationSection(Section):
    """The ``search_evaluation`` section."""

    count: CountPoints = Field(default=CountPoints(), description="Points for the number of results.")
    coverage: float = Field(default=0.4, ge=0, description="Points where all required fields are found (R-086).")
    fields: dict[str, FieldRule] = Field(default_factory=dict, description="Required fields that can be checked.")
    diversity: DiversityPoints = Field(default=DiversityPoints(), description="Points for where results come from.")
    relevance: RelevancePoints = Field(default=RelevancePoints(), description="Points for what results say.")
    bands: Bands = Field(default=Bands(), description="Where a quality score leads.")
    goal_words: Words = Field(default=(), description="Words of a goal that say what is to be done, not with what.")
    transactional_words: Words = Field(default=(), description="Words and signs of offers.")
    shopping_goal_words: Words = Field(default=(), description="Words of a goal to buy something.")
    retailer_types: dict[str, Words] = Field(default_factory=dict, description="Hosts of each kind of shop.")
    beside_hosts: Words = Field(default=(), description="Hosts of forums, reviews and general knowledge.")
    beside_words: Words = Field(default=(), description="Words in titles of reviews and forums.")
    no_gaps: Words = Field(default=(), description="Replies that mean that nothing is missing.")
    refinements: Refinements = Field(default=Refinements(), description="What is suggested for each weakness.")
    max_refinements: int = Field(default=5, ge=1, le=50, description="Suggestions at most.")
    max_gaps_characters: int = Field(default=1000, ge=50, le=10_000, description="Of the gaps in words.")
    max_refinement_characters: int = Field(default=200, ge=20, le=2000, description="Of one suggestion.")
    max_results: int = Field(default=20, ge=1, le=200, description="Results that a judge is shown.")
    max_snippet_characters: int = Field(default=300, ge=20, le=5000, description="Of each result's text there.")
    max_html_characters: int = Field(default=1_000_000, ge=0, description="HTML of each result that is parsed.")
    max_text_characters: int = Field(default=5000, ge=100, description="Of each result's text that is counted in.")

    @model_validator(mode="after")
    def _off_goal_is_never_acceptable(self) -> Self:
        if self.relevance.most_off_goal >= self.bands.acceptable:
            raise ValueError("relevance.most_off_goal must be below bands.acceptable")
        return self
