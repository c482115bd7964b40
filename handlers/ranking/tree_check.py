"""Whether trees are whole, told from XGBoost's JSON before XGBoost sees it.

A model goes in; what is wrong with it comes out, or nothing. XGBoost trusts the file that it loads: of a child that is
not there it reads whatever lies in memory, a child above its parent is asked for ever, and of trees that are missing it
says nothing until it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

_LEAF = -1
_OF_NODES = (
    "left_children",
    "right_children",
    "split_indices",
    "split_conditions",
    "split_type",
    "default_left",
    "base_weights",
    "sum_hessian",
    "loss_changes",
    "parents",
)
"""Lists that have an entry for each node."""
_NUMBERS = ("split_conditions", "base_weights", "sum_hessian", "loss_changes")


def flaw_of(learner: Mapping[str, Any], features: int) -> str | None:
    """What is wrong with the trees of a model, in words that follow "the model file"; None where they are whole.

    Args:
        learner: The part ``learner`` of the JSON.
        features: Columns of the rows that it is going to be shown.
    """
    try:
        return _flaw(learner, features)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        return f"is not whole ({type(error).__name__}: {error})"


def _flaw(learner: Mapping[str, Any], features: int) -> str | None:
    parameters = learner["learner_model_param"]
    if int(parameters.get("num_class", 0)) > 1 or int(parameters.get("num_target", 1)) > 1:
        return "gives a result several scores, and a ranking needs one"
    booster = learner["gradient_booster"]
    if booster["name"] != "gbtree":
        return f"holds {booster['name']!r}, and only gbtree is read"
    model = booster["model"]
    trees, count = model["trees"], int(model["gbtree_model_param"]["num_trees"])
    if not count or len(trees) != count:
        return f"holds {len(trees)} trees and says that it has {count}"
    if list(model["tree_info"]) != [0] * count:
        return "deals its trees to several scores, and a ranking needs one"
    rounds = model.get("iteration_indptr")
    if rounds is not None and (rounds[0] != 0 or rounds[-1] != count or any(b <= a for a, b in pairwise(rounds))):
        return "counts its rounds otherwise than its trees"
    for number, tree in enumerate(trees):
        if flaw := _of_tree(tree, number, features):
            return f"has a damaged tree {number}: {flaw}"
    return None


def _of_tree(tree: Mapping[str, Any], number: int, features: int) -> str | None:
    nodes = int(tree["tree_param"]["num_nodes"])
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 or int(tree["tree_param"]["num_feature"]) != features:
        return "its leaves or its features are not those of the model"
    if tree["id"] != number or nodes < 1:
        return f"it has {nodes} nodes and calls itself {tree['id']}"
    for name in _OF_NODES:
        if len(tree[name]) != nodes:
            return f"{name} has {len(tree[name])} entries for {nodes} nodes"
    if any(tree["split_type"]) or tree.get("categories"):
        return "it splits on categories, and features are numbers"
    for name in _NUMBERS:
        if not all(type(value) in (int, float) and math.isfinite(value) for value in tree[name]):
            return f"{name} holds what is no number"
    return _of_nodes(tree["left_children"], tree["right_children"], tree["split_indices"], features)


def _of_nodes(lefts: Sequence[Any], rights: Sequence[Any], split_on: Sequence[Any], features: int) -> str | None:
    nodes = len(lefts)
    for node, (left, right, column) in enumerate(zip(lefts, rights, split_on, strict=True)):
        if left == _LEAF and right == _LEAF:
            continue
        for child in (left, right):
            # Trees grow downwards: a child always has a higher number than its parent, so none is its own ancestor.
            if type(child) is not int or not node < child < nodes:
                return f"node {node} of {nodes} has the child {child}"
        if type(column) is not int or not 0 <= column < features:
            return f"node {node} splits on feature {column} of {features}"
    return None
