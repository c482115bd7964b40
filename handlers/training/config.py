"""The section ``training`` of ``config/ranking.yaml``: how feedback becomes grades, and grades become trees."""

from __future__ import annotations

from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from handlers.ranking.model import Phase
from schemas.ranking import MAX_GRADE
from schemas.rules import Section


class PhaseSection(Section):
    """From how many labelled results on which question is put to the trees."""

    binary: int = Field(ge=1, description="Labelled results from which a model is trained at all: good or not.")
    pairwise: int = Field(ge=1, description="From which it learns which of two is better.")
    listwise: int = Field(ge=1, description="From which it learns the order of the whole list (NDCG).")

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if not self.binary < self.pairwise < self.listwise:
            raise ValueError("binary, pairwise and listwise have to ascend")
        return self

    def phase_of(self, labelled: int) -> Phase | None:
        """The phase that so many labelled results allow for; None where they are too few for any."""
        if labelled < self.binary:
            return None
        if labelled < self.pairwise:
            return Phase.BINARY
        return Phase.PAIRWISE if labelled < self.listwise else Phase.LISTWISE


class DwellGrade(Section):
    """What a stay of some length is worth."""

    seconds: float = Field(ge=0, description="Of looking at the result, from which on the grade holds.")
    grade: int = Field(ge=0, le=MAX_GRADE, description="0 (useless) to 4 (exactly this).")


class GradeSection(Section):
    """What an act of the reader says of a result. A grade that somebody gave counts before all of it."""

    click: int = Field(ge=0, le=MAX_GRADE, description="Grade of a result that was opened, and nothing else known.")
    dwell: tuple[DwellGrade, ...] = Field(description="Grades by length of stay, ascending; shorter is a click.")
    relevant: int = Field(ge=1, le=MAX_GRADE, description="Grade from which a result counts as good.")
    passed_over: int = Field(
        ge=0,
        le=100,
        description="Results below the last one with feedback that were seen as well. Those seen and left alone have "
        "grade 0; of those further down nothing is known, and they are left out (Joachims 2002).",
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


class TrainingSection(Section):
    """The whole of it."""

    phases: PhaseSection = Field(description="Which question is put to the trees as data grows.")
    least_good: int = Field(
        ge=1,
        description="Labelled results that have to be good (grades.relevant) for a model to be trained at all: what "
        "was shown and left alone is quickly much, and says little.",
    )
    grades: GradeSection = Field(description="How feedback becomes grades.")
    held_out: float = Field(gt=0, lt=1, description="Share of the queries that the model is judged by and never sees.")
    least_judged: int = Field(
        ge=1, description="Different queries held out from which on two orders can be told apart; below, no verdict."
    )
    position_bias: float = Field(
        ge=0,
        le=2,
        description="How fast attention falls with the rank: a click at rank r counts r to this power in the binary "
        "phase, and the other phases let XGBoost estimate it (lambdarank_unbiased). 0 corrects nothing.",
    )
    growth: GrowthSection = Field(description="How trees are grown.")
    bootstrap: int = Field(ge=100, le=100_000, description="Draws for the intervals of a comparison.")
