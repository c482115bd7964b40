"""The trees of the classifier: gradient-boosted over the measures of a result.

``tools/training`` grows them and writes ``trained.json`` beside this file: section ``result_trees`` of the
configuration.
"""

from __future__ import annotations

from pydantic import Field

from handlers.trees.forest import Trees
from schemas.rules import Section

_UNGROWN = Trees(start=(0.0, 0.0, 0.0))


class ResultTrees(Section):
    """The ``result_trees`` section, written by the training script."""

    about: str = Field(default="", description="What the trees were grown from, under which licences, and when.")
    page: Trees = Field(default=_UNGROWN, description="For results with a page.")
    text: Trees = Field(default=_UNGROWN, description="For results without a page.")
