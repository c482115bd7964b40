"""The section ``training`` of ``config/ranking.yaml``; without numpy, because every command reads the sections."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from handlers.ranking.model import Phase
from schemas.ranking import MAX_GRADE
from schemas.rules import Section


class PhaseSection(Section):
    """Labelled results from which each phase begins."""

    binary: int = Field(ge=1, description="From which a model learns good or not; with fewer there is no model.")
    pairwise: int = Field(ge=1, description="From which it learns which of two is better.")
    listwise: int = Field(ge=1, description="From which it learns the order of the whole list (NDCG).")

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.binary < self.pairwise < self.listwise:
            raise ValueError("binary, pairwise and listwise have to ascend")
        return self

    def phase_of(self, labelled: int) -> Phase | None:
        """The phase of so many labelled results; None where they are too few for any."""
        begins = ((self.listwise, Phase.LISTWISE), (self.pairwise, Phase.PAIRWISE), (self.binary, Phase.BINARY))
        return next((phase for least, phase in begins if labelled >= least), None)


class DwellGrade(Section):
    """The grade of a length of stay."""

    seconds: float = Field(ge=0, description="Of looking at the result, from which on the grade holds.")
    grade: int = Field(ge=0, le=MAX_GRADE, description="0 (useless) to 4 (exactly this).")


class GradeSection(Section):
    """How feedback becomes grades; a given grade takes precedence."""

    click: int = Field(ge=0, le=MAX_GRADE, description="Grade of a result that was opened, and nothing else known.")
    dwell: tuple[DwellGrade, ...] = Field(description="Grades by length of stay, ascending; shorter is a click.")
    relevant: int = Field(ge=1, le=MAX_GRADE, description="Grade from which a result counts as good.")
    passed_over: int = Field(
        ge=0,
        le=100,
        description="Results below the last one with feedback that count as seen, with grade 0 (Joachims 2002).",
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        bands = [(band.seconds, band.grade) for band in self.dwell]
        if any(b[0] <= a[0] or b[1] < a[1] for a, b in pairwise(bands)):
            raise ValueError("dwell has to ascend, in seconds and in grades")
        return self


class GrowthSection(Section):
    """How trees are grown; XGBoost's own names in brackets."""

    trees: int = Field(ge=1, le=5000, description="Of a model (num_boost_round).")
    depth: int = Field(ge=1, le=12, description="Questions from a tree's root to its leaf (max_depth).")
    rate: float = Field(gt=0, le=1, description="Share of each step that is taken (learning_rate).")
    rows: float = Field(gt=0, le=1, description="Share of the results that a tree sees (subsample).")
    columns: float = Field(gt=0, le=1, description="Share of the features that a tree sees (colsample_bytree).")
    leaf_weight: float = Field(ge=0, description="Curvature that a leaf needs (min_child_weight).")
    penalty: float = Field(ge=0, description="On large leaves (lambda).")

    @property
    def parameters(self) -> dict[str, str | float]:
        """XGBoost's parameters of one thread; the number of trees is an argument of its own."""
        return {
            "tree_method": "hist",
            "max_depth": self.depth,
            "learning_rate": self.rate,
            "subsample": self.rows,
            "colsample_bytree": self.columns,
            "min_child_weight": self.leaf_weight,
            "lambda": self.penalty,
            "nthread": 1,
        }


class TrainingSection(Section):
    phases: PhaseSection = Field(description="What the trees learn as data grows.")
    least_good: int = Field(ge=1, description="Labelled results that have to be good (grades.relevant) for a model.")
    grades: GradeSection = Field(description="How feedback becomes grades.")
    held_out: float = Field(gt=0, lt=1, description="Share of the queries that the model is judged by and never sees.")
    least_judged: int = Field(ge=1, description="Different held-out queries that a verdict takes.")
    position_bias: float = Field(
        ge=0,
        le=2,
        description="How fast attention falls with the rank: a click at rank r counts r to this power in the binary "
        "phase, and the other phases let XGBoost estimate it (lambdarank_unbiased). 0 corrects nothing.",
    )
    growth: GrowthSection = Field(description="How trees are grown.")
