"""Trees that were grown together, and their evaluation all at once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from itertools import accumulate
from operator import and_, getitem
from typing import Self

from pydantic import Field, model_validator

from schemas.rules import Section

Questions = tuple[list[list[float]], list[list[int]]]
"""For each of some measures: thresholds in order, and the leaves that each interval between them leaves."""
_LEAVES = 8
_MAX_KNOWN = 10_000
_LOWEST = bytes([_LEAVES, *((number & -number).bit_length() - 1 for number in range(1, 256))])
"""The lowest bit that is set, for each byte."""


class Tree(Section):
    """One of ``Trees``, which checks that it is complete.

    Node ``n`` goes on to node ``2n+1``, or to ``2n+2`` where the measure is above the threshold.
    """

    of: int = Field(ge=0, description="The number of the type whose score it adds to.")
    measures: tuple[int, ...] = Field(description="The measure of each node, the root first.")
    thresholds: tuple[float, ...] = Field(description="The threshold of each node.")
    leaves: tuple[float, ...] = Field(max_length=_LEAVES, description="Added to the type's score, from left to right.")


class Trees(Section):
    """Trees that were grown together."""

    about: str = Field(default="", description="What the trees were grown from, under which licences, and when.")
    measures: tuple[str, ...] = Field(default=(), description="Names of the measures, as trees number them.")
    start: tuple[float, ...] = Field(default=(0.0, 0.0, 0.0), description="Scores of the types without trees.")
    trees: tuple[Tree, ...] = Field(default=(), description="The trees; their leaves are summed.")

    @cached_property
    def forest(self) -> Forest:
        """The trees in the form that is evaluated, made once."""
        return Forest(self)

    @model_validator(mode="after")
    def _are_complete(self) -> Self:
        for number, tree in enumerate(self.trees):
            nodes = len(tree.measures)
            if len(tree.thresholds) != nodes or len(tree.leaves) != nodes + 1 or nodes & (nodes + 1):
                raise ValueError(f"tree {number} needs 0, 1, 3 or 7 measures, as many thresholds, and one leaf more")
            if nodes and not 0 <= min(tree.measures) <= max(tree.measures) < len(self.measures):
                raise ValueError(f"tree {number} looks at a measure that has no name")
        return self


class Forest:
    """Trees that are asked all at once (QuickScorer, Lucchese et al. 2015).

    Each tree is a byte with one bit for each leaf. A measure above a threshold rules out the leaves to the left, and
    the lowest bit that remains is the leaf that is reached. What one measure rules out in all trees is one long number,
    computed beforehand for each interval between its thresholds.
    """

    def __init__(self, trees: Trees) -> None:
        ordered = sorted(trees.trees, key=lambda tree: tree.of)
        questions: dict[int, list[tuple[float, int]]] = {}
        every = (1 << 8 * len(ordered)) - 1
        for place, tree in enumerate(ordered):
            for node, (measure, threshold) in enumerate(zip(tree.measures, tree.thresholds, strict=True)):
                left = _left_leaves(node, len(tree.leaves)) << 8 * place
                questions.setdefault(measure, []).append((threshold, every ^ left))
        self._asked: dict[str, tuple[list[float], list[int]]] = {}
        for measure, asked in questions.items():
            asked.sort()
            kept = list(accumulate((keeps for _, keeps in asked), and_, initial=every))
            self._asked[trees.measures[measure]] = [threshold for threshold, _ in asked], kept
        self._known: dict[int, int] = {}
        self._questions: dict[tuple[str, ...], Questions] = {}
        self._every, self._bytes, self._start = every, len(ordered), trees.start
        self._leaves = [[tree.leaves for tree in ordered if tree.of == of] for of in range(len(trees.start))]

    def scores(self, measures: Mapping[str, float]) -> list[float]:
        """The score of each type in log-odds, by its number. A missing measure counts as 0."""
        questions = self.questions(tuple(self._asked))
        return self.reached(self.left(questions, [measures.get(name, 0.0) for name in self._asked]))

    def questions(self, names: tuple[str, ...]) -> Questions:
        """What the trees ask about some measures, for ``left``."""
        found = self._questions.get(names)
        if found is None:
            asked = [self._asked.get(name, ([], [self._every])) for name in names]
            found = self._questions[names] = [thresholds for thresholds, _ in asked], [kept for _, kept in asked]
        return found

    def left(self, questions: Questions, values: Iterable[float], left: int = -1) -> int:
        """The leaves that some measures leave, of those that others left; ``reached`` needs all measures."""
        thresholds, kept = questions
        return reduce(and_, map(getitem, kept, map(bisect_left, thresholds, values)), left)

    def known(self, key: int, measure: Callable[[int], Iterable[float]], names: tuple[str, ...]) -> int:
        """The leaves that measures leave which follow from a number, kept since few numbers occur."""
        left = self._known.get(key)
        if left is None:
            left = self.left(self.questions(names), measure(key))
            if len(self._known) < _MAX_KNOWN:
                self._known[key] = left
        return left

    def reached(self, left: int) -> list[float]:
        """The score of each type by the leaves that are left."""
        reached = (left & self._every).to_bytes(self._bytes, "little").translate(_LOWEST)
        scores, begin = [], 0
        for start, leaves in zip(self._start, self._leaves, strict=True):
            end = begin + len(leaves)
            scores.append(sum(map(getitem, leaves, reached[begin:end]), start))
            begin = end
        return scores


def _left_leaves(node: int, leaves: int) -> int:
    """The leaves under the left branch of a node, as bits."""
    level = (node + 1).bit_length() - 1
    under = leaves >> level
    before = (node + 1 - (1 << level)) * under
    return ((1 << under // 2) - 1) << before
