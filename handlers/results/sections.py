"""The sections ``classification`` and ``retrievalEvaluation`` of the configuration."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from schemas.event import Score
from schemas.rules import Section

_ROUNDING = 1e-9


class Weight(Section):
    """What a measure adds to the score of each type, in log-odds for one unit of it."""

    specific: float = Field(default=0.0, description="Towards SPECIFIC_CONTENT.")
    aggregator: float = Field(default=0.0, description="Towards AGGREGATOR.")
    navigation: float = Field(default=0.0, description="Towards NAVIGATION.")


class ActionableBands(Section):
    """How the actionable score lies inside the band of a type (R-030); no score falls between two bands (C-05)."""

    rich_kinds: int = Field(
        ge=1, le=4, description="Kinds of detail (date, time, place, price) from which on an item is rich."
    )
    rich: float = Field(ge=0.9, le=1.0, description="A rich item.")
    rich_each_kind: float = Field(ge=0.0, le=0.1, description="Each kind of detail beyond that.")
    rich_identifier: float = Field(ge=0.0, le=0.1, description="An address with a slug or identifier.")
    rich_markup: float = Field(ge=0.0, le=0.1, description="Markup that declares a single item.")
    minimal: float = Field(ge=0.6, le=0.8, description="An item without details.")
    minimal_each_kind: float = Field(ge=0.0, le=0.2, description="Each kind of detail of an item that is not rich.")
    listing_content: float = Field(ge=0.3, le=0.5, description="A listing with some content, at least.")
    listing_content_range: float = Field(ge=0.0, le=0.2, description="What its share of content adds at most.")
    listing_links: float = Field(ge=0.0, le=0.2, description="A listing that is mostly links, at most.")
    navigation: float = Field(ge=0.4, le=0.4, description="Navigation: one value, by definition.")

    @model_validator(mode="after")
    def _stay_inside(self) -> Self:
        rich = self.rich + (4 - self.rich_kinds) * self.rich_each_kind + self.rich_identifier + self.rich_markup
        tops = {
            "rich": (rich, 1.0),
            "minimal": (self.minimal + (self.rich_kinds - 1) * self.minimal_each_kind, 0.8),
            "listing_content": (self.listing_content + self.listing_content_range, 0.5),
        }
        for name, (top, most) in tops.items():
            if top > most + _ROUNDING:
                raise ValueError(f"{name} and what is added to it come to {top:g}, above {most:g}")
        return self


class ClassificationSection(Section):
    """The ``classification`` section."""

    max_characters: int = Field(ge=200, description="Text of a result that is looked at.")
    max_html_characters: int = Field(ge=1000, description="HTML of a result that is parsed.")
    least_page_share: float = Field(
        ge=0.0,
        le=1.0,
        description="Share of the text that a page without links must show; below it the text is alone.",
    )
    lead_characters: int = Field(
        ge=200, description="Beginning of a full text in which details count as its own; a snippet counts whole (C-55)."
    )
    max_evidence: int = Field(ge=1, le=100, description="Details of each kind that are kept.")
    min_link_phrases: int = Field(ge=1, description="Labels of links below which a text has no link share (C-04).")
    mostly_links_text: float = Field(
        gt=0.0, le=1.0, description="Share of words in labels of links from which on a text is mostly links."
    )
    mostly_links_page: float = Field(
        gt=0.0, lt=1.0, description="Share of linked text from which on a page is mostly links."
    )
    least_listing_confidence: float = Field(
        ge=0, le=1, description="Below it a result without a page is not taken for a listing."
    )
    bias: Weight = Field(description="Added to the score of each type.")
    weights: dict[str, Weight] = Field(description="What measures add to the scores beside the trees.")
    bands: ActionableBands = Field(description="How the actionable score is made.")


class Dimensions(Section):
    """A number for each of the four dimensions, under their wire names."""

    contextRecall: Score = Field(default=0.5, description="How much of what is asked for the batch holds.")  # noqa: N815 - the key's name comes from the source document
    contextPrecision: Score = Field(default=0.5, description="How much of the batch is to the point.")  # noqa: N815
    sourceQuality: Score = Field(default=0.5, description="How good its sources are.")  # noqa: N815
    actionableInformation: Score = Field(default=0.6, description="How much of it is the thing itself (R-054).")  # noqa: N815


class DimensionWeights(Section):
    """Shares of the four dimensions in the overall score; they sum to 1 (R-051)."""

    contextRecall: Score = Field(default=0.3, description="How much of what is asked for the batch holds.")  # noqa: N815
    contextPrecision: Score = Field(default=0.25, description="How much of the batch is to the point.")  # noqa: N815
    sourceQuality: Score = Field(default=0.2, description="How good its sources are.")  # noqa: N815
    actionableInformation: Score = Field(default=0.25, description="How much of it is the thing itself (R-054).")  # noqa: N815

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = self.contextRecall + self.contextPrecision + self.sourceQuality + self.actionableInformation
        if abs(total - 1.0) > _ROUNDING:
            raise ValueError(f"the weights sum to {total:g}, not to 1")
        return self


class RetrievalEvaluationSection(Section):
    """The ``retrievalEvaluation`` section; its keys are camelCase as in the source document (R-059)."""

    dimensionThresholds: Dimensions = Field(  # noqa: N815
        default=Dimensions(), description="From which value on a dimension is passed."
    )
    weights: DimensionWeights = Field(default=DimensionWeights(), description="Shares in the overall score.")
    severeFailureBelow: Score = Field(default=0.5, description="Overall score below which a failure is severe.")  # noqa: N815
    coverageThreshold: Score = Field(  # noqa: N815
        default=0.5,
        description="Share of what the query asks for from which on a result counts as relevant, without a judge.",
    )
    unknownSourceQuality: Score = Field(  # noqa: N815
        default=0.5, description="Quality of a source whose trust score is not known, without a judge."
    )
    maxSources: int = Field(default=20, ge=1, le=200, description="Results that a judge is shown.")  # noqa: N815
    maxSourceCharacters: int = Field(  # noqa: N815
        default=800, ge=20, le=20_000, description="Of each one's text that a judge is shown."
    )
