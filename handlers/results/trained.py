"""The trained part of the classifier: trees over measures, beside the cues (``docs/adr``).

In: a result's measures. Out: a score in log-odds for each type. The trees are grown by ``tests/training`` and lie in
``trained.json`` beside this file: section ``result_trees`` of the configuration. Without them the cues decide alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from schemas.rules import Section

_TYPES = 3


class Tree(Section):
    """A complete tree: node ``n`` goes on to node ``2n+1``, or to ``2n+2`` where the measure is above the threshold."""

    of: int = Field(ge=0, lt=_TYPES, description="0 for SPECIFIC_CONTENT, 1 for AGGREGATOR, 2 for NAVIGATION.")
    measures: tuple[int, ...] = Field(description="Which measure each node looks at, the root first.")
    thresholds: tuple[float, ...] = Field(description="What it is held against.")
    leaves: tuple[float, ...] = Field(description="What is added to the type's score, from left to right.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        nodes = len(self.measures)
        if len(self.thresholds) != nodes or len(self.leaves) != nodes + 1 or nodes & (nodes + 1):
            raise ValueError("a tree has as many thresholds as measures, one leaf more, and is complete")
        return self


class Trees(Section):
    """Trees that were grown together."""

    measures: tuple[str, ...] = Field(description="Names of the measures, as trees number them.")
    start: tuple[float, float, float] = Field(description="The score of each type before any tree.")
    trees: tuple[Tree, ...] = Field(description="The trees; their leaves are summed.")

    @model_validator(mode="after")
    def _names_all(self) -> Self:
        if any(not 0 <= measure < len(self.measures) for tree in self.trees for measure in tree.measures):
            raise ValueError("a tree looks at a measure that has no name")
        return self


class ResultTrees(Section):
    """The ``result_trees`` section, written by the training script."""

    about: str = Field(default="", description="What the trees were grown from, under which licences, and when.")
    page: Trees | None = Field(default=None, description="For results with a page.")
    text: Trees | None = Field(default=None, description="For results with a text alone.")
    short: Trees | None = Field(default=None, description="For a short text alone, such as a search engine shows.")


class Forest:
    """Trees made ready to be asked."""

    def __init__(self, trees: Trees) -> None:
        """Takes the trees out of their models, which are slow to read."""
        self._names = trees.measures
        self._start = trees.start
        self._trees = [
            (tree.of, tree.measures, tree.thresholds, tree.leaves, len(tree.measures)) for tree in trees.trees
        ]

    def scores(self, measures: Mapping[str, float]) -> list[float]:
        """The score of each type in log-odds, by its number. A measure that is not given counts as 0."""
        values = [measures.get(name, 0.0) for name in self._names]
        scores = list(self._start)
        for of, asked, thresholds, leaves, nodes in self._trees:
            node = 0
            while node < nodes:
                node = 2 * node + (2 if values[asked[node]] > thresholds[node] else 1)
            scores[of] += leaves[node - nodes]
        return scores
