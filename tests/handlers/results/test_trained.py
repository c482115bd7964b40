"""Trees: evaluated as written, refused if incomplete; a result has a type with and without them."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from handlers.classify_results import ClassifyResultsRules
from handlers.trees.forest import Forest, Tree, Trees
from schemas.retrieval import ResultType, RetrievedContent
from tests.rules import shipped_rules

RULES = shipped_rules(ClassifyResultsRules)
TREE = Tree(of=1, measures=(0, 1, 1), thresholds=(10.0, 0.5, 2.0), leaves=(0.1, 0.2, 0.3, 0.4))
PROSE = "The band played for two hours in the old hall, and nobody left before the last of many encores had ended. "
HTML = f"<title>The opening</title><body><h1>The opening</h1>{f'<p>{PROSE}</p>' * 12}"


def _walked(trees: Trees, measures: dict[str, float]) -> list[float]:
    """The scores as one gets them by going down each tree, question by question."""
    scores = list(trees.start)
    for tree in trees.trees:
        node = 0
        while node < len(tree.measures):
            value = measures.get(trees.measures[tree.measures[node]], 0.0)
            node = 2 * node + (2 if value > tree.thresholds[node] else 1)
        scores[tree.of] += tree.leaves[node - len(tree.measures)]
    return scores


@given(st.data())
def test_vectorised_forest_equals_a_walk_of_each_tree(data: st.DataObject) -> None:
    trees, forest, thresholds = _shipped()
    # Thresholds themselves are where the two could part.
    value = st.sampled_from(thresholds) | st.floats(allow_nan=True) | st.booleans()
    measures = {name: data.draw(value) for name in trees.measures}
    assert forest.scores(measures) == pytest.approx(_walked(trees, measures))


@cache
def _shipped() -> tuple[Trees, Forest, list[float]]:
    """The trees for a text, and all their thresholds."""
    trees = RULES.result_trees.text
    return trees, Forest(trees), sorted({threshold for tree in trees.trees for threshold in tree.thresholds})


def test_trees_of_different_depth_are_summed() -> None:
    stump = Tree(of=2, measures=(1,), thresholds=(1.0,), leaves=(0.5, 0.7))
    lone = Tree(of=0, measures=(), thresholds=(), leaves=(0.3,))
    trees = Trees(measures=("links", "share"), start=(0.0, 0.0, 0.0), trees=(stump, lone, TREE))
    assert Forest(trees).scores({"links": 11.0, "share": 1.5}) == [0.3, 0.3, 0.7]
    assert Forest(trees).scores({"links": 9.0, "share": 0.1}) == [0.3, 0.1, 0.5]


def test_a_tree_deeper_than_a_byte_has_leaves_is_refused() -> None:
    with pytest.raises(ValidationError, match="at most 8"):
        Tree(of=0, measures=(0,) * 15, thresholds=(1.0,) * 15, leaves=(0.1,) * 16)


@pytest.mark.parametrize(
    "change",
    [{"thresholds": (1.0,)}, {"leaves": (0.1,)}, {"measures": (0, 1), "thresholds": (1.0, 1.0), "leaves": (1.0,) * 3}],
)
def test_a_tree_that_is_not_whole_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="tree 0 needs 0, 1, 3 or 7 measures"):
        Trees.model_validate({"measures": ("links", "share"), "trees": (TREE.model_dump() | change,)})


@pytest.mark.parametrize("measure", [-1, 1])
def test_a_measure_without_a_name_is_refused(measure: int) -> None:
    stump = Tree(of=0, measures=(measure,), thresholds=(1.0,), leaves=(0.5, 0.7))
    with pytest.raises(ValidationError, match="no name"):
        Trees(measures=("links",), start=(0.0, 0.0, 0.0), trees=(stump,))


def test_the_shipped_trees_ask_for_measures_that_there_are() -> None:
    classifier, trees = RULES.classifier, RULES.result_trees
    text = RetrievedContent(url="https://example.com/news/the-opening", content=PROSE * 12, content_kind="full")
    page = text.model_copy(update={"html": HTML})
    for content, shipped in ((text, trees.text), (page, trees.page)):
        measures = classifier.measures(content)
        assert set(measures) == set(shipped.measures)
    assert "CC-BY-4.0" in trees.about


def test_without_trees_a_result_is_an_unsure_item() -> None:
    rules = shipped_rules(ClassifyResultsRules, result_trees={})
    content = RetrievedContent(url="https://example.com/news/the-opening-of-the-hall", content=PROSE * 12)
    without = rules.classifier.classify(content)
    assert (without.result_type, without.confidence) == (ResultType.SPECIFIC_CONTENT, 0.3333)
    assert rules.config_version != RULES.config_version
